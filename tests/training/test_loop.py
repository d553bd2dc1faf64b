"""History, validation, best weights, early stopping, callbacks and the non-finite guard."""

import math

import pytest
import torch
from torch import nn

from viewsplice.config import TrainConfig
from viewsplice.exceptions import TrainingDivergedError
from viewsplice.training.loop import Validation, run


def settings(**values):
    return TrainConfig(**{"epochs": 6, **values}).resolve(TrainConfig.paper())


class Counter(nn.Module):
    """A model whose one weight is the number of epochs it was trained for."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))

    def train_epoch(self, epoch):
        with torch.no_grad():
            self.weight += 1
        return {"rec/A": 1.0 / (epoch + 1)}


def by_list(values):
    return Validation(lambda epoch: {"rec/A": values[epoch]}, lambda terms: terms["rec/A"])


def test_history_has_stage_epoch_and_terms_of_both_kinds():
    model, history = Counter(), [{"stage": "before"}]
    run("stage", model.train_epoch, model, settings(epochs=2), history, validation=by_list([5.0, 4.0]))
    assert history[1:] == [
        {"stage": "stage", "epoch": 0, "rec/A": 1.0, "val/rec/A": 5.0},
        {"stage": "stage", "epoch": 1, "rec/A": 0.5, "val/rec/A": 4.0},
    ]


def test_last_weights_are_kept_by_default_and_the_best_on_request():
    values = [3.0, 1.0, 2.0, 4.0, 4.0, 4.0]
    for keep_best, expected in ((False, 6), (True, 2)):
        model = Counter()
        run("s", model.train_epoch, model, settings(keep_best=keep_best), [], validation=by_list(values))
        assert model.weight.item() == expected


def test_epochs_before_the_whole_objective_do_not_compete():
    model = Counter()
    judged = Validation(
        lambda epoch: {"rec/A": [0.0, 3.0, 2.0, 4.0, 5.0, 6.0][epoch]}, lambda t: t["rec/A"], first_epoch=1
    )
    run("s", model.train_epoch, model, settings(keep_best=True), [], validation=judged)
    assert model.weight.item() == 3


def test_patience_stops_early():
    model = Counter()
    constant = settings(patience=2, schedule="constant")
    run("s", model.train_epoch, model, constant, [], validation=by_list([3.0, 1.0, 2.0, 2.0, 0.0, 0.0]))
    assert model.weight.item() == 4


def test_patience_waits_until_a_falling_rate_has_halved():
    model = Counter()
    falling = settings(patience=2, schedule="cosine")
    run("s", model.train_epoch, model, falling, [], validation=by_list([1.0, 2.0, 2.0, 2.0, 0.5, 0.0]))
    assert model.weight.item() == 6
    model = Counter()
    run("s", model.train_epoch, model, falling, [], validation=by_list([1.0, 2.0, 2.0, 2.0, 2.0, 0.0]))
    assert model.weight.item() == 5


def test_validation_every_few_epochs():
    model, history = Counter(), []
    run("s", model.train_epoch, model, settings(validate_every=3), history, validation=by_list([1.0] * 6))
    assert ["val/rec/A" in row for row in history] == [False, False, True, False, False, True]


def test_callbacks_see_every_epoch_and_one_true_ends_the_stage():
    model, seen = Counter(), []

    def watch(event):
        seen.append((event.stage, event.epoch, event.n_epochs, event.terms["rec/A"], event.model is model))

    run("s", model.train_epoch, model, settings(), [], callbacks=[lambda e: e.epoch == 1, watch])
    assert seen == [("s", 0, 6, 1.0, True), ("s", 1, 6, 0.5, True)]


def test_a_non_finite_term_stops_at_once_and_carries_the_last_finite_state():
    model, history = Counter(), []

    def diverge(epoch):
        return {**model.train_epoch(epoch), "dis/A->B": math.nan if epoch == 2 else 0.0}

    with pytest.raises(TrainingDivergedError, match=r"dis/A->B became non-finite in epoch 2 of stage 's'") as caught:
        run("s", diverge, model, settings(), history)
    error = caught.value
    assert (error.stage, error.epoch, error.term) == ("s", 2, "dis/A->B")
    assert len(error.history) == len(history) == 3
    assert error.state["weight"].item() == model.weight.item() == 2


def test_a_non_finite_weight_is_noticed_too():
    model = Counter()

    def overflow(epoch):
        terms = model.train_epoch(epoch)
        if epoch == 1:
            with torch.no_grad():
                model.weight.fill_(math.inf)
        return terms

    with pytest.raises(TrainingDivergedError, match="weight became non-finite in epoch 1"):
        run("s", overflow, model, settings(), [])
