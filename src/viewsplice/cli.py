"""The command line. Each subcommand is a few calls of the library; nothing is computed here."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import viewsplice.demo as demonstration
from viewsplice.arguments import Commands, make_parser
from viewsplice.estimator import SPLICE
from viewsplice.exceptions import TrainingDivergedError
from viewsplice.io import read_column, read_views, write_atomic, write_csv, write_latents
from viewsplice.runs import (
    MODEL,
    SETTINGS,
    check_rows,
    finish_run,
    load_run,
    prepare_counts,
    read_inputs,
    read_settings,
    run_groups,
    start_run,
    write_audit,
)
from viewsplice.splits import Blocks
from viewsplice.studies import write_scan, write_tuning
from viewsplice.sweeps import Sweep, dimension_scan, tune
from viewsplice.sweeps.progress import task_progress
from viewsplice.training.callbacks import progress
from viewsplice.training.loop import Callback
from viewsplice.trust import AuditSettings, audit
from viewsplice.views import Views

# Commands that keep what they finish: given again, they go on.
_RESUMABLE = ("audit", "scan", "tune", "reproduce")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0 (done), 1 (training diverged), 2 (bad input or usage) or 130 (interrupted)."""
    options = make_parser(_COMMANDS).parse_args(arguments)
    try:
        options.run(options)
    except TrainingDivergedError as error:
        return _complain(str(error), 1)
    except (ValueError, TypeError, OSError) as error:
        return _complain(" ".join(str(error).split()), 2)
    except KeyboardInterrupt:
        is_resumable = options.command in _RESUMABLE
        return _complain("interrupted" + (": give the same command again to go on" if is_resumable else ""), 130)
    return 0


def _complain(message: str, code: int) -> int:
    sys.stderr.write(f"viewsplice: {message}\n")
    return code


def _fit(options: argparse.Namespace) -> None:
    model = SPLICE(**_params(options))
    inputs = {"views": options.views, "groups": options.groups, "color": options.color}
    inputs |= {"sqrt": options.sqrt, "smooth": options.smooth, "time": options.time}
    with _folder(options.out, "fit", inputs, model):
        views = read_views(options.views)
        colors = {text: check_rows("--color", read_column(text, len(views)), len(views)) for text in options.color}
        views, changes = prepare_counts(_grouped(views, options.groups), sqrt=options.sqrt, bins=options.smooth)
        notes, seconds = _train(model, options, views, validation=Blocks() if options.time else 0.1)
        notes = [*changes, *notes]
        files = finish_run(options.out, model, views, colors=colors, seconds=seconds, notes=notes)
    _say(options, f"wrote {files[-1]}")


def _params(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of the estimator: those of ``--settings``, and the options that override them."""
    params = {"random_state": 0} | (read_settings(options.settings) if options.settings else {})
    chosen = {
        "n_shared": _width(options.shared),
        "n_private": tuple(map(_width, options.private)) if options.private else None,
        "recipe": options.recipe,
        "random_state": options.seed,
    }
    params |= {name: value for name, value in chosen.items() if value is not None}
    if options.private and len(options.private) == 1:
        params["n_private"] = _width(options.private[0])
    return params


def _grouped(views: Views, file: str | None) -> Views:
    """Return the views with the labels of ``--groups``, if given."""
    if not file:
        return views
    return Views(views, groups=check_rows("--groups", read_column(file, len(views)), len(views)))


def _transform(options: argparse.Namespace) -> None:
    model = load_run(options.folder)
    inputs = read_inputs(options.folder)
    views = _grouped(read_views(options.views, names=model.view_names_), options.groups)
    views, changes = prepare_counts(views, sqrt=inputs.get("sqrt", False), bins=inputs.get("smooth"))
    _say(options, "\n".join(changes))
    latents = model.transform(views)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write_latents(options.out, latents, {})
    _say(options, f"wrote {options.out}")


def _audit(options: argparse.Namespace) -> None:
    model, inputs = load_run(options.folder), read_inputs(options.folder)
    views = read_views(options.views, names=model.view_names_)
    known = {text: check_rows("--covariate", read_column(text, len(views)), len(views)) for text in options.covariate}
    groups = options.groups or run_groups(options.folder, len(views))
    _say(options, f"groups: {groups}" if groups else "")
    views, changes = prepare_counts(_grouped(views, groups), sqrt=inputs.get("sqrt", False), bins=inputs.get("smooth"))
    _say(options, "\n".join(changes))
    settings = AuditSettings(n_refits=options.refits)
    sweep = _sweep(options, options.folder / "audit-tasks")
    found = audit(model, views, covariates=known, random_state=options.seed, settings=settings, sweep=sweep)
    path = write_audit(options.folder, found)
    _say(options, f"{found.table()}\n{found.verdict}\nwrote {path}")


def _scan(options: argparse.Namespace) -> None:
    params = _params(options)
    widths = {"widths": _numbers("--widths", options.widths)} if options.widths else {}
    views = _sweep_views(options)
    sweep = _sweep(options, options.out / "tasks")
    seed = params.pop("random_state")
    found = dimension_scan(
        views, n_folds=options.folds, model=SPLICE(**params), sweep=sweep, random_state=seed, **widths
    )
    files = write_scan(options.out, found, {**params, "random_state": seed}, _inputs(options))
    _say(options, "\n".join([*found.notes, *found.reasons]))
    _say(options, f"recommended: {found.recommended[0]} shared; {', '.join(map(str, found.recommended[1:]))} private")
    _say(options, "\n".join(f"wrote {path}" for path in files))


def _tune(options: argparse.Namespace) -> None:
    params = _params(options)
    views = _sweep_views(options)
    sweep = _sweep(options, options.out / "tasks")
    seed = params.pop("random_state")
    found = tune(views, n_trials=options.trials, model=SPLICE(**params), sweep=sweep, random_state=seed)
    files = write_tuning(options.out, found, _inputs(options))
    _say(options, "\n".join([*found.notes, *(f"wrote {path}" for path in files)]))


def _sweep_views(options: argparse.Namespace) -> Views:
    """Return the views of a sweep, prepared as for ``fit``; nothing is written before they are read."""
    if options.out.exists() and not options.out.is_dir():
        raise ValueError(f"{options.out} is a file; expected a folder for the results")
    views = _grouped(read_views(options.views), options.groups)
    views, changes = prepare_counts(views, sqrt=options.sqrt, bins=options.smooth)
    _say(options, "\n".join(changes))
    return views


def _inputs(options: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(options, name) for name in ("views", "groups", "sqrt", "smooth")}


def _sweep(options: argparse.Namespace, folder: Path) -> Sweep:
    return Sweep(options.jobs, options.backend, folder, None if options.quiet else task_progress())


def _demo(options: argparse.Namespace) -> None:
    data = demonstration.demo_data(quick=options.quick)
    model = demonstration.demo_model()
    (options.out / MODEL).unlink(missing_ok=True)
    with _folder(options.out, "demo", {"quick": options.quick}, model):
        train = data.rows("train")
        notes, seconds = _train(model, options, train.views)
        found = demonstration.demo_audit(model, data, None if options.quiet else task_progress())
        sentences = [*demonstration.demo_notes(model, data, quick=options.quick), *notes, f"Audit: {found.verdict}"]
        files = finish_run(options.out, model, train.views, colors=train.factors(), seconds=seconds, notes=sentences)
        write_audit(options.out, found)
    _say(options, "\n".join([*sentences, f"wrote {files[-1]}"]))


def _reproduce(options: argparse.Namespace) -> None:
    from viewsplice.experiments import run_experiments

    shown = ["reproduce", options.experiment, "--out", str(options.out)]
    shown += ["--seeds", options.seeds] if options.seeds else []
    shown += ["--quick"] if options.quick else []
    tables = run_experiments(
        options.experiment,
        options.out,
        seeds=_numbers("--seeds", options.seeds),
        data=options.data,
        quick=options.quick,
        callbacks=[] if options.quiet else [progress()],
        say=lambda text: _say(options, text),
        command=" ".join(["viewsplice", *shown]),
    )
    _say(options, "\n".join(f"wrote {path}" for path in tables))


def _numbers(option: str, text: str | None) -> tuple[int, ...]:
    """Return the numbers of a list such as 0,1,2; none where none are given."""
    if text is None:
        return ()
    words = text.split(",")
    if not all(word.strip().isdigit() for word in words):
        raise ValueError(f"{option} is {text!r}; expected whole numbers with commas between, such as 0,1,2")
    return tuple(dict.fromkeys(int(word) for word in words))


def _train(model: SPLICE, options: argparse.Namespace, views: Any, **fit_options: Any) -> tuple[list[str], float]:
    """Fit with progress shown; return what was warned of, in plain words, and the seconds it took."""
    callbacks: list[Callback] = [] if options.quiet else [progress()]
    started = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(views, callbacks=callbacks, **fit_options)
        except TrainingDivergedError as error:
            write_csv(options.out / "history.csv", error.history)
            raise
    notes = list(dict.fromkeys(f"Warning: {warning.message}" for warning in caught))
    _say(options, "\n".join(notes))
    return notes, time.monotonic() - started


@contextmanager
def _folder(folder: Path, command: str, inputs: dict[str, Any], model: SPLICE) -> Iterator[None]:
    """Start a run; when its input turns out to be bad, leave nothing half-written behind.

    Once there is a model, everything stays: it is worth more than a tidy folder.
    """
    existed, settings = folder.exists(), folder / SETTINGS
    before = settings.read_bytes() if settings.is_file() else None
    start_run(folder, command, inputs, model)
    try:
        yield
    except (ValueError, TypeError):
        if not (folder / MODEL).exists():
            settings.unlink(missing_ok=True)
            if before is not None:
                write_atomic(settings, before)
            if not existed:
                folder.rmdir()
        raise


def _width(text: str | None) -> int | str | None:
    if text is None or text == "auto":
        return text
    if not text.lstrip("-").isdigit():
        raise ValueError(f"got {text!r} as a width; expected an integer")
    return int(text)


def _say(options: argparse.Namespace, text: str) -> None:
    if text and not options.quiet:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


_COMMANDS: Commands = {
    "fit": _fit,
    "transform": _transform,
    "audit": _audit,
    "scan": _scan,
    "tune": _tune,
    "demo": _demo,
    "reproduce": _reproduce,
}
