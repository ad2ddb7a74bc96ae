#include "translate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/text/buf.h"
#include "client/builder.h"
#include "granary/sql.h"
#include "graph/graph.h"
#include "graph_json/json.h"

static char directory[] = "/tmp/granary-sql-XXXXXX";

static const struct {
    const char *name;
    const char *text;
} files[] = {
    {"a.csv", "id,x,name,day\n1,2,one,2020-01-01\n"},
    {"it's 'a'.csv", "id,x,name,day\n1,2,one,2020-01-01\n"},
    {"b.csv", "id,y,name\n1,2,one\n"},
    {"odd.csv", "\xef\xbb\xbf\"a \"\"b\"\"\",Ä,`c`\r\n1,2,3\r\n"},
    {"region.csv", "r_regionkey,r_name,r_comment\n"},
    {"nation.csv", "n_nationkey,n_name,n_regionkey,n_comment\n"},
    {"supplier.csv", "s_suppkey,s_name,s_address,s_nationkey,s_phone,s_acctbal,s_comment\n"},
    {"customer.csv", "c_custkey,c_name,c_address,c_nationkey,c_phone,c_acctbal,c_mktsegment,c_comment\n"},
    {"part.csv", "p_partkey,p_name,p_mfgr,p_brand,p_type,p_size,p_container,p_retailprice,p_comment\n"},
    {"partsupp.csv", "ps_partkey,ps_suppkey,ps_availqty,ps_supplycost,ps_comment\n"},
    {"orders.csv", "o_orderkey,o_custkey,o_orderstatus,o_totalprice,o_orderdate,o_orderpriority,o_clerk,"
                   "o_shippriority,o_comment\n"},
    {"lineitem.csv", "l_orderkey,l_partkey,l_suppkey,l_linenumber,l_quantity,l_extendedprice,l_discount,l_tax,"
                     "l_returnflag,l_linestatus,l_shipdate,l_commitdate,l_receiptdate,l_shipinstruct,l_shipmode,"
                     "l_comment\n"},
};

int
tables_set_up(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL || chdir(directory) != 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        FILE *file = fopen(files[i].name, "w");

        if (file == NULL || fputs(files[i].text, file) < 0 || fclose(file) != 0) {
            return -1;
        }
    }
    return 0;
}

int
tables_tear_down(void **state)
{
    (void)state;
    gr_remove_tree(directory);
    return 0;
}

char *
translate(const char *sql, granary_err *ret_err)
{
    granary_graph *graph = NULL;
    Granary__Graph *message = NULL;
    struct gr_graph *checked = NULL;
    struct gr_buf out = {0};

    *ret_err = granary_sql_graph(NULL, sql, strlen(sql), &graph);
    if (*ret_err == GRANARY_OK) {
        assert_int_equal(gr_builder_finish(graph, &message), GRANARY_OK);
        assert_int_equal(gr_graph_to_json(message, &out), GRANARY_OK);
        if (gr_graph_create(message, &checked) != GRANARY_OK) {
            print_error("%s\n%s\n%s\n", sql, granary_error_message(), out.bytes);
            fail();
        }
        gr_graph_destroy(checked);
        granary_graph_destroy(graph);
    }
    return gr_buf_take(&out);
}
