# bash completion of hilgpu and of test programs for other drivers, for bash 4.4 and later
#
# Selectors contain : = ? and &, at which bash breaks words or which need
# quotes. The words are therefore parsed from the line as the shell would do it.

# _hilgpu_words splits the line into words; word, which is incomplete; before,
# the part of word that readline does not touch; and quote, the open quote.
_hilgpu_words() {
    local line=${COMP_LINE:0:COMP_POINT} any='' c i
    words=() word='' before='' quote=''
    for ((i = 0; i < ${#line}; i++)); do
        c=${line:i:1}
        if [[ -n $quote && $c == "$quote" ]]; then
            quote=''
        elif [[ $quote == "'" ]]; then
            word+=$c
        elif [[ $c == \\ ]]; then
            i=$((i + 1)) word+=${line:i:1} any=1
        elif [[ -n $quote ]]; then
            word+=$c
        elif [[ $c == [\'\"] ]]; then
            quote=$c before=$word any=1
        elif [[ $c == [[:space:]] ]]; then
            [[ -z $any ]] || words+=("$word")
            word='' before='' any=''
        else
            word+=$c any=1
            [[ $COMP_WORDBREAKS != *"$c"* ]] || before=$word
        fi
    done
}

# _hilgpu_files completes files, with one of the extensions if any are given.
_hilgpu_files() {
    local e path=${word#"$before"}
    compopt -o filenames
    if (($# == 0)); then
        mapfile -t COMPREPLY < <(compgen -f -- "$path")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -d -- "$path"; for e; do compgen -f -X "!*.$e" -- "$path"; done)
}

# _hilgpu_describe adds descriptions to a list that is only displayed.
_hilgpu_describe() {
    local i width=0 text
    ((${#COMPREPLY[@]} > 1)) && [[ $COMP_TYPE == 63 || $COMP_TYPE == 33 ]] || return
    for text in "${COMPREPLY[@]}"; do
        ((${#text} <= width)) || width=${#text}
    done
    for i in "${!COMPREPLY[@]}"; do
        [[ -z ${docs[i]} ]] || printf -v text "%-${width}s  (%s)" "${COMPREPLY[i]}" "${docs[i]}"
        [[ -z ${docs[i]} ]] || COMPREPLY[i]=${text:0:${COLUMNS:-80}-2}
    done
}

_hilgpu() {
    local -a words lines docs
    local word before quote line text directive
    _hilgpu_words
    COMPREPLY=()
    mapfile -t lines < <("${words[0]/#\~\//$HOME/}" __complete "${words[@]:1}" "$word" 2>/dev/null)
    ((${#lines[@]} > 0)) || return
    directive=${lines[-1]#:}
    unset 'lines[-1]'
    ((directive & 1)) && return
    ((directive & 8)) && { _hilgpu_files "${lines[@]}"; return; }
    ((directive & 16)) && { compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "${word#"$before"}"); return; }
    ((directive & 2)) && compopt -o nospace
    ((directive & 32)) && compopt -o nosort
    for line in "${lines[@]}"; do
        text=${line%%$'\t'*}
        [[ $word != -*=* ]] || text=${word%%=*}=$text
        [[ $text == "$word"* ]] || continue
        text=${text#"$before"}
        if [[ -z $quote ]]; then
            printf -v text %q "$text"
            text=${text//\\\?/?} text=${text//\\,/,} # which need no quotes
        fi
        COMPREPLY+=("$text")
        line=${line#"${line%%$'\t'*}"}
        docs+=("${line#$'\t'}")
    done
    if ((${#COMPREPLY[@]} == 0 && (directive & 4) == 0)); then
        _hilgpu_files
    fi
    _hilgpu_describe
}

complete -F _hilgpu
