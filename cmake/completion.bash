# Completes a program's options and subcommands, which the program itself prints.
_legacy() {
  local words
  words=$("$1" --complete 2>/dev/null) || return
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _legacy "${BASH_SOURCE[0]##*/}"
