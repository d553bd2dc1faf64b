"""The command line. Each subcommand is a few calls of the library; nothing is computed here."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import viewsplice.demo as demonstration
from viewsplice.arguments import Commands, make_parser
from viewsplice.estimator import SPLICE
from viewsplice.exceptions import TrainingDivergedError
from viewsplice.inputs import RunData, is_missing, load_inputs
from viewsplice.io import write_csv, write_latents
from viewsplice.resuming import begun, how_to_go_on, recorded
from viewsplice.runs import (
    CHECKPOINT,
    REPORT,
    TASKS,
    finish_run,
    is_open,
    load_run,
    read_inputs,
    read_settings,
    remove_demo,
    reopen_data,
    run_groups,
    start_run,
    write_audit,
    write_report,
)
from viewsplice.splits import Blocks
from viewsplice.studies import write_scan, write_tuning
from viewsplice.sweeps import Sweep, dimension_scan, tune
from viewsplice.sweeps.progress import task_progress
from viewsplice.training.callbacks import progress
from viewsplice.training.loop import Callback
from viewsplice.trust import AuditSettings, audit
from viewsplice.views import Views


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0 (done), 1 (training diverged), 2 (bad input or usage) or 130 (interrupted)."""
    options = make_parser(_COMMANDS).parse_args(arguments)
    options.line = shlex.join(["viewsplice", *(sys.argv[1:] if arguments is None else arguments)])
    if not _is_text(options.line):
        return _complain("a name given holds bytes that are not UTF-8, which no settings can hold: rename that file", 2)
    try:
        options.run(options)
    except TrainingDivergedError as error:
        return _complain(str(error), 1)
    except (ValueError, TypeError, OSError, ImportError) as error:
        # What a full disk stops after hours has something to go on from.
        advice = how_to_go_on(options.command, _folder(options)) if isinstance(error, OSError) else ""
        return _complain(f"{' '.join(str(error).split())}{advice}", 2)
    except KeyboardInterrupt:
        return _complain(f"interrupted{how_to_go_on(options.command, _folder(options))}", 130)
    return 0


def _is_text(line: str) -> bool:
    """Tell whether a command line can be written down: names of files may hold any bytes."""
    return not any("\ud800" <= letter <= "\udfff" for letter in line)


def _folder(options: argparse.Namespace) -> Path | None:
    folder: Path | None = options.folder if "folder" in options else options.out
    return folder


def _complain(message: str, code: int) -> int:
    sys.stderr.write(f"viewsplice: {message}\n")
    return code


def _fit(options: argparse.Namespace) -> None:
    model = SPLICE(**_params(options))
    inputs = {**_inputs(options), "time": options.time, "color": options.color}
    inputs |= {"kind": options.kind} if options.kind else {}
    with begun(options.out, options.line):
        start_run(options.out, "fit", inputs, model)
        data, changes = load_inputs(inputs)
        found, seconds = _train(model, options, data.views, validation=Blocks() if options.time else 0.1)
        files = finish_run(options.out, model, data, seconds=seconds, notes=changes, warnings=found)
    _say(options, _written(files))


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


def _transform(options: argparse.Namespace) -> None:
    model = load_run(options.folder)
    data, changes = load_inputs(_as_fitted(options), model.view_names_)
    _say(options, "\n".join(changes))
    latents = model.transform(data.views)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write_latents(options.out, latents, {})
    _say(options, f"wrote {options.out}")


def _as_fitted(options: argparse.Namespace, **more: Any) -> dict[str, Any]:
    """Return the views of a command as inputs that are treated as those of the fit were."""
    fitted = read_inputs(options.folder)
    treated = {"sqrt": fitted.get("sqrt", False), "smooth": fitted.get("smooth")}
    return {"views": options.views, "groups": options.groups, **treated, **more}


def _report(options: argparse.Namespace) -> None:
    model = load_run(options.folder)
    if options.views:
        data, _ = load_inputs(_as_fitted(options, color=options.color, kind=options.kind), model.view_names_)
    else:
        data = reopen_data(options.folder, color=options.color, kind=options.kind)
    _say(options, f"wrote {write_report(options.folder, model, data, options.out)}")


def _audit(options: argparse.Namespace) -> None:
    model = load_run(options.folder)
    if options.views:
        groups = options.groups or run_groups(options.folder, options.views[0])
        _say(options, f"groups: {groups}" if groups else "")
        data, changes = load_inputs(_as_fitted(options, color=options.covariate, groups=groups), model.view_names_)
        _say(options, "\n".join(changes))
    else:
        data = reopen_data(options.folder, color=options.covariate)
    known = {name: x for name, x in data.colors.items() if not is_missing(x).any()}
    _say(options, "\n".join(f"{name} is left out: it lacks values" for name in data.colors if name not in known))
    settings = AuditSettings(n_refits=options.refits)
    sweep = _sweep(options, options.folder / "audit-tasks")
    found = audit(model, data.views, covariates=known, random_state=options.seed, settings=settings, sweep=sweep)
    _say(options, f"{found.table()}\n{found.verdict}\nwrote {write_audit(options.folder, found)}")
    _say(options, f"viewsplice report {shlex.quote(str(options.folder))} shows it on the page")


def _scan(options: argparse.Namespace) -> None:
    params = _params(options)
    widths = {"widths": _numbers("--widths", options.widths)} if options.widths else {}
    seed = params.pop("random_state")
    with begun(options.out, options.line):
        views, sweep = _sweep_views(options), _sweep(options, options.out / TASKS)
        found = dimension_scan(
            views, n_folds=options.folds, model=SPLICE(**params), sweep=sweep, random_state=seed, **widths
        )
        files = write_scan(options.out, found, {**params, "random_state": seed}, _inputs(options))
    _say(options, "\n".join([*found.notes, *found.reasons]))
    _say(options, f"recommended: {found.recommended[0]} shared; {', '.join(map(str, found.recommended[1:]))} private")
    _say(options, "\n".join(f"wrote {path}" for path in files))


def _tune(options: argparse.Namespace) -> None:
    params = _params(options)
    seed = params.pop("random_state")
    with begun(options.out, options.line):
        views, sweep = _sweep_views(options), _sweep(options, options.out / TASKS)
        found = tune(views, n_trials=options.trials, model=SPLICE(**params), sweep=sweep, random_state=seed)
        files = write_tuning(options.out, found, _inputs(options))
    _say(options, "\n".join([*found.notes, *(f"wrote {path}" for path in files)]))


def _sweep_views(options: argparse.Namespace) -> Views:
    """Return the views of a sweep, prepared as for ``fit``."""
    data, changes = load_inputs(_inputs(options))
    _say(options, "\n".join(changes))
    return data.views


def _inputs(options: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(options, name) for name in ("views", "groups", "sqrt", "smooth")}


def _sweep(options: argparse.Namespace, folder: Path) -> Sweep:
    return Sweep(options.jobs, options.backend, folder, None if options.quiet else task_progress())


def _demo(options: argparse.Namespace) -> None:
    data = demonstration.demo_data(quick=options.quick)
    model = demonstration.demo_model()
    with begun(options.out, options.line):
        remove_demo(options.out)
        start_run(options.out, "demo", {"quick": options.quick}, model)
        train = data.rows("train")
        found, seconds = _train(model, options, train.views)
        audited = demonstration.demo_audit(model, data, None if options.quiet else task_progress())
        write_audit(options.out, audited)
        notes = [*demonstration.demo_notes(model, data, quick=options.quick)]
        notes += demonstration.audit_sentences(audited.findings)
        shown = RunData(train.views, train.factors())
        files = finish_run(options.out, model, shown, seconds=seconds, notes=notes, warnings=found)
    _say(options, "\n".join([*notes, _written(files)]))


def _written(files: Sequence[Path]) -> str:
    """Return where the page is or, where it cannot be drawn, what it takes."""
    if files[-1].name == REPORT:
        return f"wrote {files[-1]}"
    return f"wrote {files[-1]}\nno page was written: it needs pip install 'viewsplice[plot]'"


def _reproduce(options: argparse.Namespace) -> None:
    from viewsplice.experiments import Options, run_experiments

    shown = ["reproduce", options.experiment, "--out", str(options.out)]
    shown += ["--seeds", options.seeds] if options.seeds else []
    shown += ["--baselines"] if options.baselines else []
    shown += ["--quick"] if options.quick else []
    callbacks = () if options.quiet else (progress(),)
    chosen = Options(_numbers("--seeds", options.seeds), options.quick, options.data, callbacks, options.baselines)
    with begun(options.out, options.line):
        files = run_experiments(
            options.experiment,
            options.out,
            chosen,
            say=lambda text: _say(options, text),
            command=" ".join(["viewsplice", *shown]),
        )
    _say(options, "\n".join(f"wrote {path}" for path in files))


def _resume(options: argparse.Namespace) -> None:
    arguments, where = recorded(options.folder)
    again = make_parser(_COMMANDS).parse_args(arguments)
    again.line, again.quiet = shlex.join(["viewsplice", *arguments]), again.quiet or options.quiet
    again.out = options.folder.resolve()
    if again.command in ("fit", "demo") and not is_open(again.out):
        _say(options, f"{options.folder} is finished: there is nothing to resume")
        return
    with contextlib.chdir(where if where.is_dir() else Path()):
        again.run(again)


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
            model.fit(views, callbacks=callbacks, checkpoint=options.out / CHECKPOINT, **fit_options)
        except TrainingDivergedError as error:
            write_csv(options.out / "history.csv", error.history)
            raise
    found = list(dict.fromkeys(str(warning.message) for warning in caught))
    _say(options, "\n".join(f"Warning: {text}" for text in found))
    return found, time.monotonic() - started


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
    "report": _report,
    "audit": _audit,
    "scan": _scan,
    "tune": _tune,
    "demo": _demo,
    "reproduce": _reproduce,
    "resume": _resume,
}
