/*
 * What may be typed next: the words before tell the command, its part, and which argument or option's value the last
 * word is. The scripts of the shells only hand the words over, so that what is completed is told here alone.
 */
#include "cli/manual/manual.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/manual/candidates.h"

/* bash takes words apart at "=" and ":": they are put together again, and what it has of the last one is not repeated. */
static const char bash[] =
    "# bash completion of granary\n"
    "_granary() {\n"
    "    local rest=${COMP_LINE:0:COMP_POINT} word line kept i\n"
    "    local -a words=()\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        [ \"$i\" -lt \"$COMP_CWORD\" ] || word=${rest#\"${rest%%[![:space:]]*}\"}\n"
    "        if [ \"$i\" -gt 0 ] && [ \"$rest\" = \"${rest#[[:space:]]}\" ] && [ -n \"$rest\" ]; then\n"
    "            words[${#words[@]} - 1]+=$word\n"
    "        else\n"
    "            rest=${rest#\"${rest%%[![:space:]]*}\"}\n"
    "            words+=(\"$word\")\n"
    "        fi\n"
    "        rest=${rest#\"$word\"}\n"
    "    done\n"
    "    word=${words[${#words[@]} - 1]}\n"
    "    kept=${word%\"${word##*[=:]}\"}\n"
    "    word=${word//[\\\"\\'\\\\]/}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        line=${line%%$'\\t'*}\n"
    "        case $line in\n"
    "        :files) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"${word##*=}\") "
    ";;\n"
    "        :directories) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "
    "\"${word##*=}\") ;;\n"
    "        *) printf -v line %q \"${line#\"$kept\"}\"; COMPREPLY+=(\"${line//\\\\=/=}\") ;;\n"
    "        esac\n"
    "    done < <(\"${COMP_WORDS[0]}\" help --complete \"${words[@]:1:${#words[@]}-2}\" \"$word\" 2>/dev/null)\n"
    "    [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace\n"
    "}\n"
    "complete -F _granary granary\n";

static const char zsh[] =
    "#compdef granary\n"
    "# zsh completion of granary\n"
    "_granary() {\n"
    "    local line word=${(Q)PREFIX} before=\n"
    "    local -a found=() meant=() open=() openmeant=()\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "        :files | :directories)\n"
    "            [[ $PREFIX != --*=* ]] || compset -P '*='\n"
    "            if [[ $line == :files ]]; then _files; else _files -/; fi ;;\n"
    "        *=) open+=(\"$line\") ;;\n"
    "        *=$'\\t'*) open+=(\"${line%%$'\\t'*}\") ;;\n"
    "        *$'\\t'*) found+=(\"${line%%$'\\t'*}\"); meant+=(\"${line/$'\\t'/  -- }\") ;;\n"
    "        *) found+=(\"$line\"); meant+=(\"$line\") ;;\n"
    "        esac\n"
    "    done < <(\"${words[1]}\" help --complete \"${(@Q)words[2,CURRENT-1]}\" \"$word\" 2>/dev/null)\n"
    "    (( ! $#open )) || compadd -S '' -a open\n"
    "    (( ! $#found )) || compadd -l -d meant -a found\n"
    "}\n"
    "if [ \"$funcstack[1]\" = _granary ]; then\n"
    "    _granary \"$@\"\n"
    "else\n"
    "    compdef _granary granary\n"
    "fi\n";

int
complete_script(const char *shell)
{
    if (strcmp(shell, "bash") == 0 || strcmp(shell, "zsh") == 0) {
        (void)fputs(shell[0] == 'b' ? bash : zsh, stdout);
        return 0;
    }
    (void)fprintf(stderr, "granary: help: --completion %s: this shell is not known: bash or zsh\n", shell);
    return 2;
}

/* ---- options ---- */

#define TABLES 3

static void
tables_of(const struct command_row *row, const struct gr_option *ret_tables[TABLES])
{
    const struct command *command = row->command;

    ret_tables[0] = command->options;
    ret_tables[1] = command->access == NULL ? NULL : command->access->options;
    ret_tables[2] = command->alone || command->which != NULL ? NULL : command_options;
}

/* "--memory", "--memory=1G", "-i", "-i1"; NULL: none that is known */
static const struct gr_option *
option_named(const struct command_row *row, const char *word)
{
    const struct gr_option *tables[TABLES];
    bool is_long = word[0] == '-' && word[1] == '-';
    size_t length = is_long ? strcspn(word + 2, "=") : 0;

    if (word[0] != '-') {
        return NULL;
    }
    tables_of(row, tables);
    for (size_t i = 0; i < TABLES; i++) {
        for (const struct gr_option *option = tables[i]; option != NULL && option->name != NULL; option++) {
            if (is_long ? strlen(option->name) == length && memcmp(option->name, word + 2, length) == 0
                        : option->letter != 0 && option->letter == word[1]) {
                return option;
            }
        }
    }
    return NULL;
}

/* Whether the next word is this option's value. */
static bool
wants_next(const struct gr_option *option, const char *word)
{
    bool has_it = word[1] == '-' ? strchr(word, '=') != NULL : word[2] != '\0';

    return option != NULL && option->value != NULL && !option->optional && !has_it;
}

static void
print_options(const struct asked *asked, const struct command_row *row)
{
    const struct gr_option *tables[TABLES];
    char word[64];

    tables_of(row, tables);
    for (size_t i = 0; i < TABLES; i++) {
        for (const struct gr_option *option = tables[i]; option != NULL && option->name != NULL; option++) {
            if (!option->hidden) {
                (void)snprintf(word, sizeof word, "--%s%s", option->name,
                               option->value != NULL && !option->optional ? "=" : "");
                candidate(asked, word, strlen(word), option->help);
            }
        }
    }
    candidate(asked, "--help", strlen("--help"), "tell what the command does");
}

/* "memory|disk" is a choice of words; "NAME|DIR" one of kinds. */
static void
print_words(const struct asked *asked, const char *words, const char *option)
{
    for (size_t length; *words != '\0'; words += length + (words[length] == '|')) {
        size_t plain;

        length = strcspn(words, "|");
        plain = strcspn(words, "[/,.:=|@");
        if (strncmp(words + plain, ".json", 5) == 0 || strncmp(words + plain, ".so", 3) == 0) {
            plain = length; /* the name of a kind of files */
        }
        if (strncmp(words, "name:", 5) != 0) { /* IDs have these, too */
            candidates_for(asked, words, plain < length ? plain : length, option);
        }
    }
}

static void
print_value(const struct asked *asked, const struct gr_option *option)
{
    print_words(asked, option->choices != NULL ? option->choices : option->value, option->name);
}

/* ---- arguments ---- */

/*
 * The words of one form that may stand at a position: "NAME [add NUMBER | set NUMBER]" has NAME at 0, "add" and "set" at 1,
 * NUMBER at 2. The last one of a form that ends in "..." may be repeated.
 */
static void
print_form(const struct asked *asked, const char *form, size_t size, int position)
{
    int at = 0, alternative = 0;
    const char *last = NULL;
    size_t last_length = 0;
    bool repeated = false, any = false;

    for (size_t begin = 0, length; begin < size; begin += length) {
        const char *word;
        char text[128];

        length = strcspn(form + begin, " \n");
        length = begin + length > size ? size - begin : length;
        word = form + begin;
        if (length == 0) {
            length = 1;
            continue;
        }
        if (length == 1 && *word == '|') {
            at = alternative;
            continue;
        }
        alternative = *word == '[' ? at : alternative;
        last = word + (*word == '[');
        last_length = length - (*word == '[');
        while (last_length > 0 && last[last_length - 1] == ']' && memchr(last, '[', last_length) == NULL) {
            last_length--;
        }
        repeated = last_length > 3 && memcmp(last + last_length - 3, "...", 3) == 0;
        last_length -= repeated ? 3 : 0;
        if (at++ == position) {
            (void)snprintf(text, sizeof text, "%.*s", (int)last_length, last);
            print_words(asked, text, NULL);
            any = true;
        }
    }
    if (!any && repeated && position >= at) {
        char text[128];

        (void)snprintf(text, sizeof text, "%.*s", (int)last_length, last);
        print_words(asked, text, NULL);
    }
}

/* Whether a form that begins with words of its own begins with this one. */
static bool
form_begins(const char *form, const char *word)
{
    size_t length = strcspn(form, " \n");

    if (!islower((unsigned char)form[0])) {
        return true;
    }
    for (const char *at = form; at < form + length;) {
        size_t one = strcspn(at, "| \n");

        if (one == strlen(word) && memcmp(at, word, one) == 0) {
            return true;
        }
        at += one + 1;
    }
    return false;
}

static void
print_arguments(const struct asked *asked, const struct command_row *row, const char *first, int position)
{
    const struct command_row *part = row->command->rows;

    for (; position == 0 && part != NULL && part->name != NULL; part++) {
        candidate(asked, part->name, strlen(part->name), part->summary);
    }
    if (row->command->rows != NULL && row->command->which != NULL) {
        return; /* its usage is of them */
    }
    for (const char *form = row->usage == NULL ? "" : row->usage; *form != '\0';) {
        size_t length = strcspn(form, "\n");

        if (position == 0 || form_begins(form, first)) {
            print_form(asked, form, length, position);
        }
        form += length + (form[length] == '\n');
    }
}

/* ---- the line ---- */

static void
print_commands(const struct asked *asked)
{
    for (const struct command_row *row = asked->rows; row->summary != NULL; row++) {
        if (row->name != NULL) {
            candidate(asked, row->name, strlen(row->name), row->summary);
        }
    }
    candidate(asked, "help", strlen("help"), "list the commands");
}

/* A word of the line that the lists need, too. */
static void
note_place(struct asked *asked, const struct gr_option *option, const char *value)
{
    if (strcmp(option->name, "instance") == 0) {
        asked->instance = value;
    } else if (strcmp(option->name, "session") == 0) {
        asked->session = value;
    }
}

void
complete_print(const struct command_row *rows, int count, char **words)
{
    struct asked asked = {.rows = rows, .command = "", .begun = count > 0 ? words[count - 1] : "", .before = ""};
    const struct command_row *row = count > 1 ? command_find(rows, words[0]) : NULL;
    const struct gr_option *open = NULL; /* whose value comes next */
    const char *first = "";
    char before[80];
    int position = 0;

    if (count <= 1) {
        print_commands(&asked);
        return;
    }
    asked.command = words[0];
    for (int i = 1; row != NULL && i < count - 1; i++) {
        const struct gr_option *option = open == NULL ? option_named(row, words[i]) : NULL;
        const struct command_row *part = position == 0 ? command_find(row->command->rows, words[i]) : NULL;

        if (open != NULL) {
            note_place(&asked, open, words[i]);
            open = NULL;
        } else if (wants_next(option, words[i])) {
            open = option;
        } else if (option != NULL) {
            note_place(&asked, option, strchr(words[i], '=') == NULL ? NULL : strchr(words[i], '=') + 1);
        } else if (part != NULL && part->doc != NULL) {
            row = part;
        } else if (words[i][0] != '-') {
            first = position++ == 0 ? words[i] : first;
        }
    }
    if (row == NULL) {
        return;
    }
    if (open != NULL) {
        print_value(&asked, open);
    } else if (asked.begun[0] == '-' && strchr(asked.begun, '=') != NULL) {
        const char *value = strchr(asked.begun, '=') + 1;

        open = option_named(row, asked.begun);
        (void)snprintf(before, sizeof before, "%.*s", (int)(value - asked.begun), asked.begun);
        asked.before = before;
        asked.begun = value;
        if (open != NULL && open->value != NULL) {
            print_value(&asked, open);
        }
    } else if (asked.begun[0] == '-') {
        print_options(&asked, row);
    } else {
        print_arguments(&asked, row, first, position);
    }
}
