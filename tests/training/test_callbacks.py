"""Progress: lines in a pipe, a bar on a terminal."""

import io

from torch import nn

from viewsplice.training.callbacks import progress, summary
from viewsplice.training.loop import EpochEvent


class Terminal(io.StringIO):
    def isatty(self):
        return True


def show(out, n_epochs=3, stages=("disentangle",)):
    callback = progress(out)
    for stage in stages:
        for epoch in range(n_epochs):
            assert callback(EpochEvent(stage, epoch, n_epochs, {"rec/A": 0.25, "rec/B": 0.5}, nn.Identity())) is None
    return out.getvalue()


def test_a_pipe_gets_plain_lines_for_the_edges_of_a_stage():
    lines = show(io.StringIO(), stages=("disentangle", "geometry")).splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["disentangle", "1/3"],
        ["disentangle", "3/3"],
        ["geometry", "1/3"],
        ["geometry", "3/3"],
    ]
    assert "rec 0.7500" in lines[0]
    assert "\r" not in "".join(lines)


def test_a_terminal_gets_a_bar():
    text = show(Terminal())
    assert "\r" in text
    assert "3/3" in text
    assert "rec 0.7500" in text


def test_a_second_fit_with_the_same_stage_starts_over():
    text = show(Terminal(), stages=("train", "train"))
    assert text.count("3/3") >= 2
    assert "6/3" not in text


def test_the_time_left_is_that_of_the_fit_at_hand(monkeypatch):
    now = 0.0
    monkeypatch.setattr("viewsplice.training.callbacks.time.monotonic", lambda: now)
    out = io.StringIO()
    callback = progress(out)
    for epoch in (0, 1, 2, 0, 1):  # the first fit took 60 s; of the second, one epoch took 30 s
        now += 30.0 if epoch else 10.0
        callback(EpochEvent("train", epoch, 3, {}, nn.Identity()))
    assert out.getvalue().splitlines()[-1].endswith("s, 30 s left)")


def test_summary_prefers_validation_rows_but_geometry_has_only_training_ones():
    terms = {"rec/A": 1.0, "geo/A": 0.5, "rest/A": 0.125, "val/rec/A": 2.0, "val/dis/A->B": 0.25}
    assert summary(terms) == "geo 0.5000 rest 0.1250 rec 2.0000 dis 0.2500"
    assert summary({"rec/A": 1.0, "dis/A->B": 0.5}) == "rec 1.0000 dis 0.5000"
