"""What every data set returns: views, the true factors behind them, groups and a split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from viewsplice._types import Array
from viewsplice.views import Views

PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class MultiViewData:
    """Paired views together with their truth.

    Attributes
    ----------
    views
        The observations. They carry the groups as well, so that a split of the views alone respects them.
    shared
        True shared factors by name, each (n,).
    private
        True private factors by view, then by name, each (n,).
    groups
        Label per row that no split may divide, or None.
    split
        Row indices by part ("train", "validation", "test"): disjoint, together all rows.
    details
        What else is known and does not belong to rows, such as receptive fields.
    covariates
        What was measured of each row besides the views, each (n,), such as a stimulus or a time. Whether it is shared
        or private, or in the views at all, is not known: it is not among `factors`.

    Examples
    --------
    >>> from viewsplice.datasets import two_rings
    >>> data = two_rings(n_samples=100)
    >>> len(data), len(data.rows("test")), list(data.factors())
    (100, 20, ['angle', 'A/angle', 'B/angle'])
    """

    views: Views
    shared: Mapping[str, Array]
    private: Mapping[str, Mapping[str, Array]]
    groups: Array | None
    split: Mapping[str, Array]
    details: Mapping[str, Array] = field(default_factory=dict)
    covariates: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = [view for view in self.private if view not in self.views]
        if unknown:
            raise ValueError(f"private factors name the views {unknown}; expected some of {list(self.views.names)}")
        for kind, of_rows in (("factor", self.factors()), ("covariate", self.covariates)):
            for name, values in of_rows.items():
                if np.shape(values) != (len(self),):
                    raise ValueError(
                        f"{kind} {name!r} has shape {np.shape(values)}; expected one value per row: ({len(self)},)"
                    )
        rows = np.concatenate([np.empty(0, dtype=np.intp), *self.split.values()])
        if not np.array_equal(np.sort(rows), np.arange(len(self))):
            raise ValueError(
                f"split {sorted(self.split)} holds {len(rows)} indices for {len(self)} rows; "
                "expected disjoint parts that cover every row once"
            )
        self._settle_groups()

    def _settle_groups(self) -> None:
        """Give the views and this object the same groups, whichever of the two came with them."""
        if self.groups is None:
            object.__setattr__(self, "groups", self.views.groups)
        elif self.views.groups is None:
            object.__setattr__(self, "views", Views(self.views.arrays, groups=self.groups))
        elif not np.array_equal(self.groups, self.views.groups):
            raise ValueError("groups differ from the groups of the views; expected the same labels: pass them once")

    def __len__(self) -> int:
        return len(self.views)

    def factors(self) -> dict[str, Array]:
        """Return all true factors in one namespace: shared by name, private as ``"A/position"``."""
        flat = dict(self.shared)
        for view, factors in self.private.items():
            flat.update({f"{view}/{name}": values for name, values in factors.items()})
        return flat

    def rows(self, part: str) -> MultiViewData:
        """Return one part of the split as data of its own, whose only part is itself."""
        if part not in self.split:
            raise ValueError(f"got part {part!r}; expected one of {list(self.split)}")
        index = np.asarray(self.split[part], dtype=np.intp)
        return self.take(index, {part: np.arange(len(index))})

    def take(self, index: Array, split: Mapping[str, Array]) -> MultiViewData:
        """Return some rows, in the order of ``index``, with a split of their own."""
        return MultiViewData(
            views=self.views[index],
            shared={name: values[index] for name, values in self.shared.items()},
            private={view: {name: z[index] for name, z in factors.items()} for view, factors in self.private.items()},
            groups=None if self.groups is None else self.groups[index],
            split=split,
            details=self.details,
            covariates={name: values[index] for name, values in self.covariates.items()},
        )

    def training(self) -> tuple[Views, Array]:
        """Return training and validation rows as one, and which of them are for validation: what `fit` is given."""
        train, validation = (np.asarray(self.split[part], dtype=np.intp) for part in ("train", "validation"))
        return self.views[np.concatenate([train, validation])], np.arange(len(train), len(train) + len(validation))


def random_split(
    n: int,
    fractions: tuple[float, float, float] = (0.64, 0.16, 0.20),
    *,
    generator: np.random.Generator,
    groups: Array | None = None,
) -> dict[str, Array]:
    """Return sorted row indices of a random "train", "validation" and "test" part.

    Parameters
    ----------
    n
        Number of rows.
    fractions
        Share of the rows in each part, summing to 1; a share of 0 gives an empty part.
    generator
        Source of randomness.
    groups
        Optional label per row, (n,). Whole groups go to one part, so sizes are met only approximately.
    """
    shares = np.asarray(fractions, dtype=float)
    if shares.shape != (len(PARTS),) or np.any(shares < 0) or not np.isclose(shares.sum(), 1.0):
        raise ValueError(f"fractions is {fractions}; expected three shares of at least 0 that sum to 1")
    labels = np.arange(n) if groups is None else np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups has shape {labels.shape}; expected one label per row: ({n},)")
    group_of_row, sizes = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    split = {name: np.sort(rows) for name, rows in _assign(group_of_row, sizes, shares, generator)}
    empty = [name for name, share in zip(PARTS, shares, strict=True) if share > 0 and not len(split[name])]
    if empty:
        raise ValueError(
            f"{len(sizes)} {'rows' if groups is None else 'groups'} leave the parts {empty} empty; "
            "expected rows in each: pass more data, or set the fraction of that part to 0"
        )
    return split


def _assign(
    group_of_row: Array, sizes: Array, shares: Array, generator: np.random.Generator
) -> Iterator[tuple[str, Array]]:
    """Line the groups up in random order and cut the line; a group belongs where its middle lies."""
    order = generator.permutation(len(sizes))
    middles = np.cumsum(sizes[order]) - sizes[order] / 2
    cuts = np.rint(np.cumsum(shares)[:-1] * sizes.sum())
    part_of_group = np.empty(len(sizes), dtype=np.intp)
    part_of_group[order] = np.searchsorted(cuts, middles, side="right")
    for i, name in enumerate(PARTS):
        yield name, np.flatnonzero(part_of_group[group_of_row] == i)


def mix_parts(
    shared: Array, private: Array, *, private_to_shared: float, noise: float, generator: np.random.Generator
) -> Array:
    """Return one view, x = a s + b z + e, as float32.

    a and b are one factor each, such that the variances of the two parts, averaged over features, have the ratio
    ``private_to_shared`` on these rows, and sum to 1. e is i.i.d. Gaussian with one SD for all features; its
    variance is ``noise`` times the mean variance of a s + b z. A part that is constant stays as it is.

    Parameters
    ----------
    shared, private
        The responses to the shared and to the private factors, each (n, features).
    private_to_shared
        Ratio of mean variances, at least 0.
    noise
        Noise variance as a fraction of the mean signal variance, at least 0.
    generator
        Source of the noise.
    """
    for name, value in (("private_to_shared", private_to_shared), ("noise", noise)):
        if not 0 <= value < np.inf:
            raise ValueError(f"{name} is {value}; expected a finite number of at least 0")
    x = _with_variance(shared, 1 / (1 + private_to_shared))
    x += _with_variance(private, private_to_shared / (1 + private_to_shared))
    if noise > 0:
        sd = np.sqrt(noise * _mean_variance(x))
        x += np.float32(sd) * generator.standard_normal(x.shape, dtype=np.float32)
    return x


def _with_variance(part: Array, variance: float) -> Array:
    now = _mean_variance(part)
    scale = np.sqrt(variance / now) if now > 0 else 1.0
    return np.multiply(part, scale, dtype=np.float32, casting="same_kind")


def _mean_variance(x: Array) -> float:
    """Return the variance (ddof 0) averaged over features."""
    # In chunks: a double precision copy of all rows would take longer than the simulation itself.
    mean = x.mean(axis=0, dtype=np.float64)
    return sum(float(np.square(x[i : i + 1024] - mean).sum()) for i in range(0, len(x), 1024)) / x.size
