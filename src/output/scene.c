/* The scene of a model as JSON: its shapes, with constant numbers and with numbers that move. */
#include "base/status.h"
#include "base/text.h"
#include "model/draw.h"
#include "output/file.h"
#include "system/system.h"

#include <nonholo_analysis.h>

#include <stdlib.h>

static void put_number(nh_text *text, const nh_drawn_number *number)
{
    char digits[32];
    if (number->channel >= 0)
        nh_text_add(text, "[%d]", number->channel);
    else
        nh_text_add_plain(text, nh_number_text(number->value, digits));
}

static void put_value(nh_text *text, const nh_drawn_value *value)
{
    if (value->count > 1)
        nh_text_add_plain(text, "[");
    for (int i = 0; i < value->count; i++) {
        nh_text_add_plain(text, i ? "," : "");
        put_number(text, &value->number[i]);
    }
    if (value->count > 1)
        nh_text_add_plain(text, "]");
}

static void put_shape(nh_text *text, const nh_drawn *drawn)
{
    nh_text_add(text, "{\"shape\":\"%s\"", nh_shape_words_of[drawn->shape].name);
    for (int i = 0; i < drawn->points; i++) {
        nh_text_add_plain(text, i ? "," : ",\"points\":[");
        put_value(text, &drawn->point[i]);
    }
    nh_text_add_plain(text, drawn->points ? "]" : "");
    for (int i = 0; i < NH_DRAW_KEYS; i++)
        if (drawn->key[i].count) {
            nh_text_add(text, ",\"%s\":", nh_key_words_of[i].name);
            put_value(text, &drawn->key[i]);
        }
    if (drawn->name)
        nh_text_add(text, ",\"name\":\"%s\"", drawn->name);
    if (drawn->colour >= 0)
        nh_text_add(text, ",\"color\":\"%s\"", nh_colours[drawn->colour].name);
    nh_text_add_plain(text, "}");
}

static void put_scene(nh_text *text, const nh_drawing *drawing)
{
    nh_text_add(text, "{\"dimensions\":%d,\"channels\":%d,\"cut\":%s,\n\"colors\":{",
                drawing->dimensions, drawing->channels, drawing->cut ? "true" : "false");
    for (int i = 0; i < nh_colour_total; i++)
        nh_text_add(text, "%s\"%s\":[\"%s\",\"%s\"]", i ? "," : "", nh_colours[i].name,
                    nh_colours[i].light, nh_colours[i].dark);
    nh_text_add_plain(text, "},\n\"shapes\":[\n");
    for (const nh_drawn *drawn = drawing->first; drawn; drawn = drawn->next) {
        put_shape(text, drawn);
        nh_text_add_plain(text, drawn->next ? ",\n" : "\n");
    }
    nh_text_add_plain(text, "]}");
}

nh_status nh_system_scene(const nh_system *system, char **json, nh_report *report)
{
    *json = NULL;
    const nh_drawing *drawing = nh_system_drawing(system);
    if (!drawing)
        return nh_fail(report, NH_NOT_APPLICABLE, "%s has no 'draw' statements", system->name);
    nh_text text = {0};
    put_scene(&text, drawing);
    if (text.failed) {
        nh_text_free(&text);
        return nh_fail_memory(report);
    }
    *json = text.data;
    return NH_OK;
}
