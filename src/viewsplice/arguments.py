"""The arguments of every command, and their help."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from viewsplice.sweeps.tasks import BACKENDS

_FILES = "a file, as path, name=path or path:key (.npy .npz .csv .mat .h5 .zarr .h5ad .h5mu .nwb)"

Commands = Mapping[str, Callable[[argparse.Namespace], None]]


class _Parser(argparse.ArgumentParser):
    """Takes files and options in any order; complains in one line, without the usage that `--help` shows."""

    _is_mixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return what is known and what is left; the files of a command may stand before, between and after options."""
        if self._subparsers is not None or self._is_mixing:
            return super().parse_known_args(args, namespace)
        self._is_mixing = True  # it parses twice, by this very method
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_mixing = False

    def error(self, message: str) -> NoReturn:
        """Exit with code 2."""
        self.exit(2, f"{self.prog}: {message}: see {self.prog} --help\n")


def make_parser(commands: Commands) -> argparse.ArgumentParser:
    """Return the parser of the command line; what it parses has the function of its command as ``run``.

    Parameters
    ----------
    commands
        By name, what each command does with its arguments.
    """
    parser = _Parser(prog="viewsplice", description="What paired views share, and what is private.")
    parser.add_argument("--version", action="version", version=f"viewsplice {version('viewsplice')}")
    found = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, add in _ADDERS.items():
        command = found.add_parser(name, help=_HELP[name])
        command.set_defaults(run=commands[name], command=name)
        add(command)
        command.add_argument("--quiet", action="store_true", help="show nothing but errors")
    return parser


def _add_fit(fit: argparse.ArgumentParser) -> None:
    _add_views(fit)
    _add_estimator(fit)
    fit.add_argument(
        "--time", action="store_true", help="rows are a time series: validation rows in blocks, gaps apart"
    )
    _add_colors(fit)
    _add_out(fit)


def _add_transform(transform: argparse.ArgumentParser) -> None:
    _add_run_folder(transform)
    transform.add_argument("--groups", metavar="FILE", help="one label per row: smoothing stays within groups")
    _add_out(transform, "latents.npz to write")


def _add_report(page: argparse.ArgumentParser) -> None:
    _add_run_folder(page, "other rows, or data that have moved: ")
    page.add_argument("--groups", metavar="FILE", help="one label per row of the views given")
    page.add_argument("--out", type=Path, metavar="FILE", help="the page to write (default: DIR/report.html)")
    _add_colors(page)


def _add_audit(audit: argparse.ArgumentParser) -> None:
    _add_run_folder(audit, "rows to judge by, better new ones (default: those of the fit): ")
    audit.add_argument(
        "--groups", metavar="FILE", help="one label per row, such as the trial (default: those of the fit)"
    )
    audit.add_argument(
        "--covariate",
        metavar="FILE",
        action="append",
        default=[],
        help="one value per row, to be read from the latents",
    )
    audit.add_argument("--refits", type=int, default=2, metavar="N", help="refits with other seeds (default: 2)")
    audit.add_argument("--seed", type=int, default=0, metavar="S", help="seed of everything random (default: 0)")
    _add_workers(audit)


def _add_scan(scan: argparse.ArgumentParser) -> None:
    _add_views(scan)
    _add_estimator(scan)
    scan.add_argument("--widths", metavar="N,N,...", help="widths to try (default: around those a first fit finds)")
    scan.add_argument("--folds", type=int, default=3, metavar="N", help="folds of cross-validation (default: 3)")
    _add_workers(scan)
    _add_out(scan)


def _add_tune(tune: argparse.ArgumentParser) -> None:
    _add_views(tune)
    _add_estimator(tune)
    tune.add_argument("--trials", type=int, default=30, metavar="N", help="settings to try (default: 30)")
    _add_workers(tune)
    _add_out(tune)


def _add_demo(demo: argparse.ArgumentParser) -> None:
    demo.add_argument("--quick", action="store_true", help="fewer trials")
    _add_out(demo, default=Path("demo-run"))


def _add_reproduce(reproduce: argparse.ArgumentParser) -> None:
    reproduce.add_argument("experiment", metavar="NAME", help="lgn-v1, rotated-mnist, sprites, neural, or all")
    reproduce.add_argument("--seeds", metavar="S,S,...", help="seeds, such as 0,1,2 (default: the experiment's own)")
    reproduce.add_argument("--baselines", action="store_true", help="run the methods that the paper compares with, too")
    reproduce.add_argument("--data", type=Path, metavar="DIR", help="where the data are (default: VIEWSPLICE_DATA)")
    reproduce.add_argument("--quick", action="store_true", help="reduced data: every table and figure in a minute")
    _add_out(reproduce)


def _add_resume(resume: argparse.ArgumentParser) -> None:
    resume.add_argument("folder", type=Path, metavar="DIR", help="folder of fit, demo, scan, tune or reproduce")


_ADDERS: Mapping[str, Callable[[argparse.ArgumentParser], None]] = {
    "fit": _add_fit,
    "transform": _add_transform,
    "report": _add_report,
    "audit": _add_audit,
    "scan": _add_scan,
    "tune": _add_tune,
    "demo": _add_demo,
    "reproduce": _add_reproduce,
    "resume": _add_resume,
}
_HELP = {
    "fit": "fit paired views and write a run folder",
    "transform": "embed rows with a fitted model",
    "report": "write the page of a run again, as with other colors or an audit",
    "audit": "leakage, significance and stability of a fitted model",
    "scan": "how many dimensions: SPLICE and RRR curves",
    "tune": "search settings by the held-out objective",
    "demo": "simulate two views, fit and audit them, write the report",
    "resume": "go on after an interruption, with the same result; without a checkpoint, start over",
    "reproduce": "run an experiment of the paper: tables and figures",
}


def _add_views(command: argparse.ArgumentParser) -> None:
    command.add_argument("views", nargs="+", metavar="VIEW", help=_FILES)
    command.add_argument("--sqrt", action="store_true", help="take the square root of all values (spike counts)")
    command.add_argument("--smooth", type=float, metavar="BINS", help="smooth over rows, within groups: SD in rows")
    command.add_argument("--groups", metavar="FILE", help="one label per row that no split must divide")


def _add_estimator(command: argparse.ArgumentParser) -> None:
    command.add_argument("--shared", metavar="N", help="dimensions of the shared spaces, or auto (default)")
    command.add_argument(
        "--private", nargs="+", metavar="N", help="dimensions of the private spaces: one, or one per view; or auto"
    )
    command.add_argument("--recipe", choices=["auto", "paper"], help="how to fit (default: auto)")
    command.add_argument(
        "--settings", type=Path, metavar="FILE", help="settings.json of an earlier run; options override it"
    )
    command.add_argument("--seed", type=int, metavar="S", help="seed of everything random (default: 0)")


def _add_run_folder(command: argparse.ArgumentParser, optional: str = "") -> None:
    command.add_argument("folder", type=Path, metavar="DIR", help="run folder of a fit")
    command.add_argument("views", nargs="*" if optional else "+", metavar="VIEW", help=f"{optional}{_FILES}")


def _add_colors(command: argparse.ArgumentParser) -> None:
    what = "one value per row to color by; a table or a .npz file may hold several"
    command.add_argument("--color", metavar="FILE", action="append", default=[], help=what)
    what = "read a color as continuous, circular or categorical (default: guessed)"
    command.add_argument("--kind", metavar="NAME=KIND", action="append", default=[], help=what)


def _add_workers(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--jobs", type=int, default=-1, metavar="N", help="processes, one thread each (default: one per core)"
    )
    command.add_argument(
        "--backend", choices=BACKENDS, default="loky", help="this machine, or the cluster that is running"
    )


def _add_out(
    command: argparse.ArgumentParser, what: str = "folder for the results", default: Path | None = None
) -> None:
    command.add_argument("--out", type=Path, required=default is None, default=default, help=what)
