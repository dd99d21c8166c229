/* Functions that read a statement after its keyword (statements.c); parser.c lists the keywords. */
#ifndef NH_MODEL_STATEMENTS_H
#define NH_MODEL_STATEMENTS_H

#include "model/parser.h"

/* Parts common to several statements. They return NULL or false after an error, which is stored in
 * the parser. */
nh_item *nh_add_item(nh_parser *p, nh_statement *s, nh_place place);
bool nh_expect_name(nh_parser *p, const char *expected);
/* Reads `for NAME in a..b:` if it comes next. */
bool nh_read_for(nh_parser *p, nh_statement *s);
/* Takes the next name and defines it. */
nh_symbol *nh_define(nh_parser *p, nh_symbol_kind kind);
/* contact_statements.c: `grip LIMIT [static LIMIT]`, if it comes next. */
void nh_read_grip(nh_parser *p, nh_statement *s);
/* ... as the next item of a statement, perhaps with a range: a family. */
nh_symbol *nh_define_family(nh_parser *p, nh_statement *s, nh_symbol_kind kind);

typedef void nh_statement_reader(nh_parser *p, nh_statement *s);
nh_statement_reader nh_read_model, nh_read_definitions, nh_read_declarations, nh_read_lagrangian,
    nh_read_constraint, nh_read_contact, nh_read_impacts, nh_read_force, nh_read_dissipation,
    nh_read_table, nh_read_start, nh_read_frame, nh_read_brackets, nh_read_assignments,
    nh_read_names, nh_read_inputs, nh_read_draw, nh_read_pace, nh_read_span, nh_read_scale,
    nh_read_event, nh_read_when;

#endif
