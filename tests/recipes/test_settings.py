"""Complete settings of recipe "auto" as functions of the rows and widths, and what is said about them."""

from dataclasses import asdict, replace

import pytest

from viewsplice import ConvNetworks, GeometryConfig, MLPNetworks, ResidualNetworks, TrainConfig
from viewsplice.recipes import choose_settings
from viewsplice.recipes.settings import auto_geometry, auto_networks, auto_training, explain_settings

OPEN = {"A": None, "B": None, "A->B": None, "B->A": None}


def settings(n_rows=1000, widths=OPEN, networks=None, training=None, geometry="default", recipe="auto"):
    return choose_settings(recipe, networks, training, geometry, n_rows=n_rows, widths=widths)


@pytest.mark.parametrize(
    ("n_rows", "epochs", "scout"),
    # 17 (12000 / n)^(1/4), between 18 and 40; of the scout 17 (12000 / n)^(1/2), between 8 and as many.
    [(20, 40, 40), (750, 34, 34), (12_000, 18, 17), (15_120, 18, 15), (30_000, 18, 11), (10_000_000, 18, 8)],
)
def test_epochs_by_rows(n_rows, epochs, scout):
    found = settings(n_rows).training
    assert (found.epochs, found.scout_epochs) == (epochs, scout)
    assert found.patience == max(3, epochs // 4)
    assert found.regression_epochs == round(scout / 2)


@pytest.mark.parametrize(
    ("n_rows", "batch_size"),
    # A twentieth of the rows, as a power of two between 32 and 256 (512 of many rows), and at most half of the rows.
    [(4, 2), (20, 10), (63, 31), (100, 32), (1000, 64), (2500, 128), (5000, 256), (36_000, 256), (1_000_000, 512)],
)
def test_batches_by_rows(n_rows, batch_size):
    found = settings(n_rows).training
    assert found.batch_size == batch_size
    assert found.batch_landmarks == max(32, batch_size // 4)


@pytest.mark.parametrize(
    ("n_rows", "rate", "beta2"),
    # 480, 1404 and 2106 steps: 0.004 sqrt(800 / steps) and 1 - 40 / steps, within their bounds.
    [(400, 0.004, 0.916667), (20_000, 0.00301941, 0.97151), (60_000, 0.00246533, 0.981007), (10_000_000, 0.001, 0.999)],
)
def test_rate_and_memory_by_steps(n_rows, rate, beta2):
    found = settings(n_rows).training
    assert (found.learning_rate, found.beta2) == pytest.approx((rate, beta2), rel=1e-4)


@pytest.mark.parametrize(
    ("n_rows", "n_landmarks"), [(8, 2), (40, 10), (400, 50), (2000, 100), (4000, 160), (100_000, 160)]
)
def test_landmarks_by_rows(n_rows, n_landmarks):
    found = settings(n_rows).geometry
    assert found.n_landmarks == n_landmarks
    assert found.n_neighbors == min(16, n_rows // 4)
    assert found.smoothing == min(12, n_rows // 200)
    assert found.max_points == max(6000, 4 * n_landmarks)
    assert (found.grow_by, found.n_anchors) == (1, 3)
    assert found.lambda_geo == settings(1000).geometry.lambda_geo  # one constant, whatever the data


@pytest.mark.parametrize("n_rows", [4, 5, 10, 33, 100, 999])
def test_settings_never_need_more_rows_than_nine_tenths_of_them(n_rows):
    found = settings(n_rows)
    n_train = n_rows - max(1, round(0.1 * n_rows))
    assert found.training.batch_size <= n_train
    assert found.geometry.n_landmarks <= n_train
    assert found.geometry.n_neighbors + 1 <= n_train


def test_wide_spaces_have_more_landmarks_and_wide_shared_ones_a_wider_scout():
    widths = {"A": 7, "B": None, "A->B": 80, "B->A": 3}
    assert auto_geometry(2_000, widths).n_landmarks == 160
    assert auto_geometry(10_000, widths).n_landmarks == 300
    assert auto_geometry(10_000, {"A": 20, "B": 0, "A->B": 2, "B->A": 2}).n_landmarks == 200
    training = auto_training(10_000, widths, auto_networks())
    assert (training.scout_shared, training.scout_private) == (80, 4)
    narrow = auto_training(10_000, {"A": 1, "B": 0, "A->B": 2, "B->A": 2}, auto_networks())
    assert (narrow.scout_shared, narrow.scout_private) == (16, 4)


def test_principal_axes_for_flat_networks_only():
    assert settings().training.retained_variance == 0.995
    assert settings(networks=MLPNetworks((8,))).training.retained_variance == 0.995
    assert settings(networks=ConvNetworks()).training.retained_variance == 1.0
    given = TrainConfig(retained_variance=0.9)
    assert settings(networks=ConvNetworks(), training=given).training.retained_variance == 0.9


def test_everything_is_complete_and_what_is_given_stays():
    mine, shape = TrainConfig(epochs=3, steps="alternating"), GeometryConfig(n_landmarks=7)
    found = settings(training=mine, geometry=shape)
    assert None not in asdict(found.training).values()
    assert [name for name, value in asdict(found.geometry).items() if value is None] == ["distance"]
    assert (found.training.epochs, found.training.steps) == (3, "alternating")
    assert found.geometry.n_landmarks == 7
    assert isinstance(found.networks, ResidualNetworks)
    assert found.networks.n_frequencies > 0
    assert settings(geometry=None).geometry is None


def test_without_geometry_decoders_have_no_fourier_features_but_networks_that_are_given_stay():
    # They are for latents of unit variance, which nothing provides without geometry.
    plain, own = settings(geometry=None).networks, ResidualNetworks(8, 1, n_frequencies=4)
    assert plain == replace(settings().networks, n_frequencies=0)
    assert settings(geometry=None, networks=own).networks == own


def test_the_papers_settings_do_not_depend_on_the_data():
    few, many = (settings(n, recipe="paper") for n in (100, 100_000))
    assert few == many
    assert few.training == TrainConfig.paper()
    assert few.geometry == GeometryConfig.paper()
    assert few.networks == MLPNetworks.paper()
    assert (few.training.warmup, few.training.steps, few.training.retained_variance) == (0.0, "alternating", 1.0)
    assert (few.geometry.n_anchors, few.geometry.max_points) == (1, 0)


def test_wide_views_get_wider_networks_and_more_passes():
    wide, narrow = (
        choose_settings("auto", None, None, "default", n_rows=10_000, widths={}, n_features=n) for n in (2_049, 2_048)
    )
    assert (wide.networks.width, narrow.networks.width) == (512, 256)
    assert (wide.networks.head, narrow.networks.head) == (1_024, 0)
    assert wide.training.epochs == 2 * narrow.training.epochs
    assert wide.training.scout_epochs == 2 * narrow.training.scout_epochs
    assert wide.training.learning_rate < narrow.training.learning_rate
    given = choose_settings(
        "auto", ResidualNetworks(width=64), TrainConfig(epochs=3), "default", n_rows=10, widths={}, n_features=9_999
    )
    assert (given.networks.width, given.training.epochs) == (64, 3)


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"recipe": "fast"}, ValueError, "recipe is 'fast'; expected 'auto' or 'paper'"),
        ({"geometry": "none"}, ValueError, "geometry is 'none'; expected a GeometryConfig, 'default', or None"),
        ({"geometry": 5}, TypeError, "geometry is 5; expected a GeometryConfig"),
        (
            {"networks": MLPNetworks},
            TypeError,
            r"networks is the class MLPNetworks; expected one made of it: MLPNetworks\(\)",
        ),
        ({"networks": "mlp"}, TypeError, "networks is 'mlp'; expected MLPNetworks or the like"),
        ({"training": {}}, TypeError, "training is {}; expected a TrainConfig or None"),
    ],
)
def test_settings_that_cannot_be(changes, kind, message):
    with pytest.raises(kind, match=message):
        settings(**changes)


def test_choices_hold_the_values_that_are_used():
    found = settings(2000)
    choices = explain_settings(found, 2000)
    assert {name: choice.value for name, choice in choices.items()} == {
        "batch_size": 128,
        "learning_rate": found.training.learning_rate,
        "epochs": found.training.epochs,
        "scout_shared": 16,
        "scout_private": 4,
        "smoothing": 10,
        "n_landmarks": 100,
        "n_anchors": 3,
        "max_points": 6000,
        "lambda_geo": found.geometry.lambda_geo,
    }
    assert all(choice.reason and not choice.is_weak for choice in choices.values())
    assert "2,000 rows" in choices["batch_size"].reason
    assert set(explain_settings(replace(found, geometry=None), 2000)) == {"batch_size", "learning_rate", "epochs"}
