"""``tensor-compile completion``: a script by which bash and zsh complete commands, options, their values and files."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from string import Template

from ..codegen.target.names import TARGETS
from ..stages import STAGES
from .export import FORMS

__all__ = ["SHELLS", "completion_script"]

#: The shells that there is a script for, with what they need before it.
SHELLS = {"bash": "", "zsh": "autoload -U +X compinit bashcompinit && compinit && bashcompinit\n"}
#: What may stand behind an option or a command that takes a few words.
_VALUES = {
    "--emit": (*STAGES, *FORMS),
    "--stop-after": tuple(STAGES),
    "--target": tuple(TARGETS),
    "--threads": ("host", "pool"),
    "cache": ("info", "clear", "why"),
    "completion": tuple(SHELLS),
}

# bash takes words apart at `=`.  Where there is no choice, the shell completes files.
_SCRIPT = Template("""\
_tensor_compile() {
  local IFS=$$'\\n' choices="" word="$${COMP_WORDS[COMP_CWORD]}" before="$${COMP_WORDS[COMP_CWORD-1]}"
  if [[ "$$word" == "=" ]]; then word=""
  elif [[ "$$before" == "=" ]]; then before="$${COMP_WORDS[COMP_CWORD-2]}"
  fi
  case "$$before" in
$values
    *) if [[ "$$word" == -* ]]; then
         if [[ "$${COMP_WORDS[1]}" == run ]]; then choices="$run"; else choices="$check"; fi
       elif [[ "$$COMP_CWORD" == 1 ]]; then choices="$commands"
       fi ;;
  esac
  COMPREPLY=($$(compgen -W "$${choices// /$$'\\n'}" -- "$$word"))
  if [[ "$$COMP_CWORD" == 1 ]]; then COMPREPLY+=($$(compgen -f -X '!*.tx' -- "$$word")); fi
}
complete -o default -F _tensor_compile tensor-compile
""")


def completion_script(shell: str, commands: Sequence[str], check: ArgumentParser, run: ArgumentParser) -> str:
    """The script for one of `SHELLS`; `check` and `run` have the options of a file alone and behind ``run``."""
    values = "\n".join(f'    {before}) choices="{" ".join(words)}" ;;' for before, words in _VALUES.items())
    script = _SCRIPT.substitute(values=values, commands=" ".join(commands), check=_options(check), run=_options(run))
    return SHELLS[shell] + script


def _options(parser: ArgumentParser) -> str:
    """The options' long names, where they have one."""
    return " ".join(action.option_strings[-1] for action in parser._actions if action.option_strings)
