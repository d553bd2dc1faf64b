"""What a fitted estimator shows with a trailing underscore: read from the fit, never stored twice."""

from __future__ import annotations

from collections.abc import Mapping

from viewsplice._types import Array
from viewsplice.fitted import Fitted
from viewsplice.geometry.targets import SpaceGeometry
from viewsplice.model import SpliceNet
from viewsplice.recipes import Choice, doubts
from viewsplice.training.loop import History


class FittedAttributes:
    """Attributes of a fitted estimator; ``fitted_`` holds them all."""

    fitted_: Fitted

    @property
    def model_(self) -> SpliceNet:
        """The trained networks."""
        return self.fitted_.model

    @property
    def history_(self) -> History:
        """Loss terms, one dict per epoch."""
        return self.fitted_.history

    @property
    def geometry_(self) -> Mapping[str, SpaceGeometry]:
        """Estimated geometry of each space; empty without geometry."""
        return self.fitted_.geometry

    @property
    def split_(self) -> Mapping[str, Array]:
        """Training and validation row numbers."""
        return self.fitted_.split

    @property
    def view_names_(self) -> tuple[str, ...]:
        """Names of the fitted views, in order."""
        return self.model_.view_names

    @property
    def n_features_in_(self) -> dict[str, int]:
        """Number of features of each view."""
        return {name: s.n_features for name, s in self.fitted_.standardizers.items()}

    @property
    def n_shared_(self) -> dict[str, int]:
        """Width of each shared space."""
        return self.model_.n_shared

    @property
    def n_private_(self) -> dict[str, int]:
        """Width of each private space."""
        return self.model_.n_private

    @property
    def lambda_geo_(self) -> float:
        """Weight of the geometric loss; 0 without geometry."""
        geometry = self.fitted_.settings.geometry
        return geometry.lambda_geo if geometry else 0.0

    @property
    def choices_(self) -> Mapping[str, Choice]:
        """What was chosen for the user, by name, each with its reason."""
        return self.fitted_.choices

    @property
    def notes_(self) -> list[str]:
        """What to be careful about, in plain words: weak evidence, and absent, bridged, narrow or torn spaces."""
        return list(doubts(self.choices_).values())

    @property
    def batch_size_(self) -> int:
        """Rows per training step."""
        return self.fitted_.settings.training.batch_size

    @property
    def learning_rate_(self) -> float:
        """Highest learning rate."""
        return self.fitted_.settings.training.learning_rate

    @property
    def epochs_(self) -> dict[str, int]:
        """Epochs that each stage of the last attempt took."""
        last = self.history_[-1]["attempt"]
        stages = [row["stage"] for row in self.history_ if row["attempt"] == last]
        return {stage: stages.count(stage) for stage in dict.fromkeys(stages)}

    @property
    def scout_shared_(self) -> int:
        """Width of the scout's shared spaces."""
        return self.fitted_.settings.training.scout_shared

    @property
    def scout_private_(self) -> int:
        """Width of the scout's private spaces."""
        return self.fitted_.settings.training.scout_private

    @property
    def n_neighbors_(self) -> dict[str, int | None]:
        """Neighbors per point in the graph of each space; None with another distance."""
        return {space: found.n_neighbors for space, found in self.geometry_.items()}

    @property
    def n_landmarks_(self) -> int:
        """Number of landmarks; 0 without geometry."""
        return max((len(found.landmarks) for found in self.geometry_.values()), default=0)

    @property
    def n_anchors_(self) -> int:
        """Number of anchors; 0 without geometry."""
        return max((len(found.anchors) for found in self.geometry_.values()), default=0)

    @property
    def n_axes_(self) -> dict[str, int]:
        """Principal axes along which the networks see each view (its features, if there are no axes)."""
        return {name: s.n_outputs for name, s in self.fitted_.standardizers.items()}

    @property
    def retained_variance_(self) -> dict[str, float]:
        """Fraction of each view's training variance along those axes; what is left out is not modelled."""
        return {name: s.retained for name, s in self.fitted_.standardizers.items()}
