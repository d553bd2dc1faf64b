"""The command line. Each subcommand is a few calls of the library; nothing is computed here."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import viewsplice.demo as demonstration
from viewsplice.estimator import SPLICE
from viewsplice.exceptions import TrainingDivergedError
from viewsplice.io import write_atomic, write_csv, write_latents
from viewsplice.runs import (
    MODEL,
    REPORT,
    SETTINGS,
    RunData,
    finish_run,
    load_inputs,
    load_run,
    read_inputs,
    read_settings,
    reopen_data,
    start_run,
    write_report,
)
from viewsplice.training.callbacks import progress
from viewsplice.training.loop import Callback

_FILES = "a file, as path, name=path or path:key (.npy .npz .csv .mat .h5 .zarr .h5ad .h5mu .nwb)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0 (done), 1 (training diverged), 2 (bad input or usage) or 130 (interrupted)."""
    options = _parser().parse_args(arguments)
    options.line = shlex.join(["viewsplice", *(sys.argv[1:] if arguments is None else arguments)])
    try:
        options.run(options)
    except TrainingDivergedError as error:
        return _complain(str(error), 1)
    except (ValueError, TypeError, OSError, ImportError) as error:
        return _complain(" ".join(str(error).split()), 2)
    except KeyboardInterrupt:
        is_resumable = options.run is _reproduce
        return _complain("interrupted" + (": give the same command again to go on" if is_resumable else ""), 130)
    return 0


def _complain(message: str, code: int) -> int:
    sys.stderr.write(f"viewsplice: {message}\n")
    return code


class _Parser(argparse.ArgumentParser):
    """Complains in one line, without the usage that `--help` shows."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2."""
        self.exit(2, f"{self.prog}: {message}: see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="viewsplice", description="What paired views share, and what is private.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    fit = commands.add_parser("fit", help="fit paired views and write a run folder")
    fit.add_argument("views", nargs="+", metavar="VIEW", help=_FILES)
    fit.add_argument("--shared", metavar="N", help="dimensions of the shared spaces, or auto (default)")
    fit.add_argument(
        "--private", nargs="+", metavar="N", help="dimensions of the private spaces: one, or one per view; or auto"
    )
    fit.add_argument("--recipe", choices=["auto", "paper"], help="how to fit (default: auto)")
    fit.add_argument("--sqrt", action="store_true", help="take the square root of all values (spike counts)")
    fit.add_argument("--smooth", type=float, metavar="BINS", help="smooth over rows, within groups: SD in rows")
    fit.add_argument(
        "--settings", type=Path, metavar="FILE", help="settings.json of an earlier run; options override it"
    )
    fit.add_argument("--groups", metavar="FILE", help="one label per row that the validation split must not divide")
    fit.add_argument("--seed", type=int, metavar="S", help="seed of everything random (default: 0)")
    fit.set_defaults(run=_fit)

    transform = commands.add_parser("transform", help="embed rows with a fitted model")
    transform.add_argument("folder", type=Path, metavar="DIR", help="run folder of a fit")
    transform.add_argument("views", nargs="+", metavar="VIEW", help=_FILES)
    transform.add_argument("--groups", metavar="FILE", help="one label per row: smoothing stays within groups")
    transform.set_defaults(run=_transform)

    page = commands.add_parser("report", help="write the page of a run again, as with other colors")
    page.add_argument("folder", type=Path, metavar="DIR", help="run folder of a fit")
    page.add_argument("views", nargs="*", metavar="VIEW", help=f"other rows, or data that have moved: {_FILES}")
    page.add_argument("--groups", metavar="FILE", help="one label per row of the views given")
    page.add_argument("--out", type=Path, metavar="FILE", help="the page to write (default: DIR/report.html)")
    page.add_argument("--quiet", action="store_true", help="show nothing but errors")
    page.set_defaults(run=_report)

    for command in (fit, page):
        what = "one value per row to color by; a table or a .npz file may hold several"
        command.add_argument("--color", metavar="FILE", action="append", default=[], help=what)
        what = "read a color as continuous, circular or categorical (default: guessed)"
        command.add_argument("--kind", metavar="NAME=KIND", action="append", default=[], help=what)

    demo = commands.add_parser("demo", help="simulate two views, fit them, write the report")
    demo.add_argument("--quick", action="store_true", help="fewer trials")
    demo.set_defaults(run=_demo)

    reproduce = commands.add_parser("reproduce", help="run an experiment of the paper: tables and figures")
    reproduce.add_argument("experiment", metavar="NAME", help="lgn-v1, rotated-mnist, sprites, neural, or all")
    reproduce.add_argument("--seeds", metavar="S,S,...", help="seeds, such as 0,1,2 (default: the experiment's own)")
    reproduce.add_argument("--baselines", action="store_true", help="run the methods that the paper compares with, too")
    reproduce.add_argument("--data", type=Path, metavar="DIR", help="where the data are (default: VIEWSPLICE_DATA)")
    reproduce.add_argument("--quick", action="store_true", help="reduced data: every table and figure in a minute")
    reproduce.set_defaults(run=_reproduce)

    for command, default in ((fit, None), (transform, None), (demo, Path("demo-run")), (reproduce, None)):
        what = "latents.npz to write" if command is transform else "folder for the results"
        command.add_argument("--out", type=Path, required=default is None, default=default, help=what)
        command.add_argument("--quiet", action="store_true", help="show nothing but errors")
    return parser


def _fit(options: argparse.Namespace) -> None:
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
    model = SPLICE(**params)
    inputs = {"views": options.views, "groups": options.groups, "color": options.color}
    inputs |= {"sqrt": options.sqrt, "smooth": options.smooth} | ({"kind": options.kind} if options.kind else {})
    with _folder(options, "fit", inputs, model):
        data, changes = load_inputs(inputs)
        found, seconds = _train(model, options, data.views)
        files = finish_run(options.out, model, data, seconds=seconds, notes=changes, warnings=found)
    _say(options, _written(files))


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


def _demo(options: argparse.Namespace) -> None:
    data = demonstration.demo_data(quick=options.quick)
    model = demonstration.demo_model()
    (options.out / MODEL).unlink(missing_ok=True)
    with _folder(options, "demo", {"quick": options.quick}, model):
        train = data.rows("train")
        found, seconds = _train(model, options, train.views)
        notes = demonstration.demo_notes(model, data, quick=options.quick)
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
    tables = run_experiments(
        options.experiment,
        options.out,
        Options(_seeds(options.seeds), options.quick, options.data, callbacks, options.baselines),
        say=lambda text: _say(options, text),
        command=" ".join(["viewsplice", *shown]),
    )
    _say(options, "\n".join(f"wrote {path}" for path in tables))


def _seeds(text: str | None) -> tuple[int, ...]:
    """Return the seeds of a list such as 0,1,2; none where none are given."""
    if text is None:
        return ()
    words = text.split(",")
    if not all(word.strip().isdigit() for word in words):
        raise ValueError(f"--seeds is {text!r}; expected whole numbers with commas between, such as 0,1,2")
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
    found = list(dict.fromkeys(str(warning.message) for warning in caught))
    _say(options, "\n".join(f"Warning: {text}" for text in found))
    return found, time.monotonic() - started


@contextmanager
def _folder(options: argparse.Namespace, command: str, inputs: dict[str, Any], model: SPLICE) -> Iterator[None]:
    """Start a run; when its input turns out to be bad, leave nothing half-written behind.

    Once there is a model, everything stays: it is worth more than a tidy folder.
    """
    folder = options.out
    existed, settings = folder.exists(), folder / SETTINGS
    before = settings.read_bytes() if settings.is_file() else None
    start_run(folder, command, inputs, model, options.line)
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
