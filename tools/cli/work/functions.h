/* Tables of functions in Markdown, on stdout. */
#ifndef CLI_WORK_FUNCTIONS_H
#define CLI_WORK_FUNCTIONS_H

void print_aggregates(void); /* of groupby */
void print_windows(void);
void print_functions(void); /* of expressions, with their heading */

#endif
