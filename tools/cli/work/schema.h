/* The JSON schema of graphs, on stdout. */
#ifndef CLI_WORK_SCHEMA_H
#define CLI_WORK_SCHEMA_H

void print_schema(void);

#endif
