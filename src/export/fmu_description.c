/* The descriptions in an FMU: modelDescription.xml, and how its sources are built. The two versions
 * of the standard express the same things in different words. */
#include "export/fmu.h"

#include <string.h>

typedef struct words { /* of a role */
    const char *causality, *variability, *initial;
    bool has_start;
} words;

static const words words_of[] = {
    [NH_FMU_TIME] = {"independent", "continuous", NULL, false},
    [NH_FMU_STATE] = {"output", "continuous", "exact", true},
    [NH_FMU_RATE] = {"local", "continuous", "calculated", false},
    [NH_FMU_OUTPUT] = {"output", "continuous", "calculated", false},
    [NH_FMU_LOCAL] = {"local", "continuous", "calculated", false},
    [NH_FMU_INDICATOR] = {"local", "continuous", "calculated", false},
    [NH_FMU_INPUT] = {"input", "continuous", NULL, true},
    [NH_FMU_SETTING] = {"parameter", "tunable", "exact", true},
    [NH_FMU_PARAMETER] = {"parameter", "fixed", "exact", true},
    [NH_FMU_CONSTANT] = {"local", "constant", "exact", true},
};

/* ---- pieces ---- */

static void add_escaped(nh_text *out, const char *text)
{
    for (; *text; text++) {
        const char *as = *text == '<'   ? "&lt;"
                         : *text == '&' ? "&amp;"
                         : *text == '"' ? "&quot;"
                                        : NULL;
        if (as)
            nh_text_add_plain(out, as);
        else
            nh_text_add(out, "%c", *text);
    }
}

static void add_attribute(nh_text *out, const char *name, const char *value)
{
    if (!value)
        return;
    nh_text_add(out, " %s=\"", name);
    add_escaped(out, value);
    nh_text_add_plain(out, "\"");
}

static void add_number(nh_text *out, const char *name, double value)
{
    char text[40];
    add_attribute(out, name, nh_number_text(value, text));
}

/* How the model structure refers to a variable: by value reference, or by index. */
static int key_of(const nh_fmu *fmu, int place)
{
    return fmu->version == 3 ? fmu->variable[place].reference : place + 1;
}

static bool can_jump(const nh_fmu *fmu)
{
    return fmu->job->system->constraints > 0 || !fmu->co_simulation;
}

/* ---- interfaces ---- */

static void add_abilities(nh_text *out, const nh_fmu *fmu)
{
    const char *state = fmu->version == 3 ? "State" : "state";
    add_attribute(out, "modelIdentifier", fmu->job->name);
    nh_text_add(out, " canGetAndSetFMU%s=\"true\" canSerializeFMU%s=\"true\"", state, state);
    if (fmu->version == 2)
        nh_text_add_plain(out, " canNotUseMemoryManagementFunctions=\"true\"");
    if (fmu->directions)
        nh_text_add(out, " providesDirectionalDerivative%s=\"true\"", fmu->version == 3 ? "s" : "");
}

/* The end of an interface; in version 2.0 with the sources. */
static void add_sources(nh_text *out, const nh_fmu *fmu, const char *interface)
{
    if (fmu->version == 3)
        nh_text_add_plain(out, "/>\n");
    else {
        nh_text_add(out, ">\n    <SourceFiles>\n      <File name=\"%s.c\"/>\n", fmu->job->name);
        if (fmu->open)
            nh_text_add(out, "      <File name=\"%s.c\"/>\n", fmu->open->name);
        nh_text_add(out, "      <File name=\"fmi2.c\"/>\n    </SourceFiles>\n  </%s>\n", interface);
    }
}

static void add_interfaces(nh_text *out, const nh_fmu *fmu)
{
    nh_text_add_plain(out, "  <ModelExchange");
    add_abilities(out, fmu);
    if (fmu->version == 3 && fmu->job->system->constraints > 0)
        nh_text_add_plain(out, " needsCompletedIntegratorStep=\"true\"");
    add_sources(out, fmu, "ModelExchange");
    if (!fmu->co_simulation)
        return;
    nh_text_add_plain(out, "  <CoSimulation");
    add_abilities(out, fmu);
    nh_text_add_plain(out, " canHandleVariableCommunicationStepSize=\"true\"");
    if (fmu->version == 3) {
        nh_text_add_plain(out, " providesIntermediateUpdate=\"true\""
                               " canReturnEarlyAfterIntermediateUpdate=\"true\"");
        add_number(out, "fixedInternalStepSize", fmu->job->run->step);
    }
    add_sources(out, fmu, "CoSimulation");
}

static void add_units(nh_text *out, const nh_fmu *fmu)
{
    static const struct {
        const char *name, *base;
    } units[] = {{"s", "s=\"1\""},
                 {"rad", "rad=\"1\""},
                 {"rad/s", "s=\"-1\" rad=\"1\""},
                 {"rad/s2", "s=\"-2\" rad=\"1\""}};
    nh_text_add_plain(out, "  <UnitDefinitions>\n");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        bool used = false;
        for (int v = 0; v < fmu->variables; v++)
            used = used || (fmu->variable[v].unit && !strcmp(fmu->variable[v].unit, units[i].name));
        if (used)
            nh_text_add(out, "    <Unit name=\"%s\">\n      <BaseUnit %s/>\n    </Unit>\n",
                        units[i].name, units[i].base);
    }
    nh_text_add_plain(out, "  </UnitDefinitions>\n");
}

static void add_categories(nh_text *out)
{
    static const char *const about[][2] = {
        {"logStatusWarning", "start states that were moved onto the constraints"},
        {"logStatusDiscard", "steps that failed"},
        {"logStatusError", "wrong calls and failures"},
        {"logAll", "all messages"}};
    nh_text_add_plain(out, "  <LogCategories>\n");
    for (size_t i = 0; i < sizeof about / sizeof *about; i++)
        nh_text_add(out, "    <Category name=\"%s\" description=\"%s\"/>\n", about[i][0],
                    about[i][1]);
    nh_text_add_plain(out, "  </LogCategories>\n");
}

/* ---- variables ---- */

/* What version 2.0 says of the type of a variable. */
static void add_type(nh_text *out, const nh_fmu *fmu, const nh_fmu_variable *v)
{
    add_attribute(out, "unit", v->unit);
    if (v->rate_of >= 0)
        nh_text_add(out, " derivative=\"%d\"", key_of(fmu, v->rate_of));
    if (v->role == NH_FMU_STATE && can_jump(fmu))
        nh_text_add_plain(out, " reinit=\"true\"");
    if (words_of[v->role].has_start)
        add_number(out, "start", v->start);
}

static void add_variable(nh_text *out, const nh_fmu *fmu, const nh_fmu_variable *v)
{
    const words *w = &words_of[v->role];
    nh_text_add(out, "    <%s", fmu->version == 3 ? "Float64" : "ScalarVariable");
    add_attribute(out, "name", v->name);
    nh_text_add(out, " valueReference=\"%d\"", v->reference);
    add_attribute(out, "causality", w->causality);
    add_attribute(out, "variability", w->variability);
    add_attribute(out, "initial", w->initial);
    add_attribute(out, "description", v->about);
    if (fmu->version == 3) {
        if (v->role == NH_FMU_STATE || v->role == NH_FMU_OUTPUT)
            nh_text_add_plain(out, " intermediateUpdate=\"true\"");
        add_type(out, fmu, v);
        nh_text_add_plain(out, "/>\n");
        return;
    }
    nh_text_add_plain(out, ">\n      <Real");
    add_type(out, fmu, v);
    nh_text_add_plain(out, "/>\n    </ScalarVariable>\n");
}

/* ---- structure ---- */

/* A list in version 2.0 has elements of one kind; in version 3.0 there is no element for the list
 * itself. */
typedef struct section {
    nh_text *out;
    const nh_fmu *fmu;
    const char *list, *element;
    int count;
} section;

static section begin_section(nh_text *out, const nh_fmu *fmu, const char *list, const char *element)
{
    return (section){out, fmu, list, fmu->version == 3 ? element : "Unknown", 0};
}

static void add_entry(section *s, int place, const char *more)
{
    const bool is_3 = s->fmu->version == 3;
    if (!is_3 && s->count == 0)
        nh_text_add(s->out, "    <%s>\n", s->list);
    nh_text_add(s->out, "%s    <%s %s=\"%d\"%s/>\n", is_3 ? "" : "  ", s->element,
                is_3 ? "valueReference" : "index", key_of(s->fmu, place), more);
    s->count++;
}

static void end_section(const section *s)
{
    if (s->fmu->version == 2 && s->count > 0)
        nh_text_add(s->out, "    </%s>\n", s->list);
}

/* The variable that is the derivative of a state. */
static int rate_of(const nh_fmu *fmu, int state)
{
    for (int i = 0; i < fmu->variables; i++)
        if (fmu->variable[i].rate_of == state)
            return i;
    return state;
}

/* States are outputs that do not depend on inputs directly. */
static void add_structure(nh_text *out, const nh_fmu *fmu)
{
    const nh_fmu_variable *v = fmu->variable;
    section s = begin_section(out, fmu, "Outputs", "Output");
    for (int i = 0; i < fmu->variables; i++)
        if (strcmp(words_of[v[i].role].causality, "output") == 0)
            add_entry(&s, i, v[i].role == NH_FMU_STATE ? " dependencies=\"\"" : "");
    end_section(&s);
    s = begin_section(out, fmu, "Derivatives", "ContinuousStateDerivative");
    for (int i = 0; i < fmu->variables; i++)
        if (v[i].role == NH_FMU_STATE)
            add_entry(&s, rate_of(fmu, i), "");
    end_section(&s);
    s = begin_section(out, fmu, "InitialUnknowns", "InitialUnknown");
    for (int i = 0; i < fmu->variables; i++)
        if (v[i].role == NH_FMU_RATE || v[i].role == NH_FMU_OUTPUT)
            add_entry(&s, i, "");
    end_section(&s);
    for (int i = 0; i < fmu->variables && fmu->version == 3; i++)
        if (v[i].role == NH_FMU_INDICATOR)
            nh_text_add(out, "    <EventIndicator valueReference=\"%d\"/>\n", v[i].reference);
}

/* ---- the whole ---- */

static void add_experiment(nh_text *out, const nh_fmu *fmu)
{
    const double span = nh_system_span(fmu->job->system);
    nh_text_add_plain(out, "  <DefaultExperiment");
    add_number(out, "startTime", fmu->job->t);
    if (span > 0)
        add_number(out, "stopTime", fmu->job->t + span);
    add_number(out, "stepSize", fmu->job->run->step);
    nh_text_add_plain(out, "/>\n");
}

void nh_fmu_describe(nh_text *out, const nh_fmu *fmu, const char *token)
{
    const nh_export_job *job = fmu->job;
    nh_text about = {0};
    nh_text_add(&about, "%s by %s", job->system->name, job->method);
    nh_text_add(out,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                "<fmiModelDescription fmiVersion=\"%d.0\"",
                fmu->version);
    add_attribute(out, "modelName", job->system->name);
    add_attribute(out, fmu->version == 3 ? "instantiationToken" : "guid", token);
    add_attribute(out, "description", about.data);
    nh_text_add(out, " generationTool=\"nonholo %s\" variableNamingConvention=\"structured\"",
                nh_version());
    if (fmu->version == 2)
        nh_text_add(out, " numberOfEventIndicators=\"%d\"", nh_system_events(job->system));
    nh_text_add_plain(out, ">\n");
    add_interfaces(out, fmu);
    add_units(out, fmu);
    add_categories(out);
    add_experiment(out, fmu);
    nh_text_add_plain(out, "  <ModelVariables>\n");
    for (int i = 0; i < fmu->variables; i++)
        add_variable(out, fmu, fmu->variable + i);
    nh_text_add_plain(out, "  </ModelVariables>\n  <ModelStructure>\n");
    add_structure(out, fmu);
    nh_text_add_plain(out, "  </ModelStructure>\n</fmiModelDescription>\n");
    out->failed = out->failed || about.failed;
    nh_text_free(&about);
}

void nh_fmu_describe_build(nh_text *out, const nh_fmu *fmu)
{
    const char *name = fmu->job->name;
    nh_text_add(out,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                "<fmiBuildDescription fmiVersion=\"3.0\">\n"
                "  <BuildConfiguration modelIdentifier=\"%s\">\n"
                "    <SourceFileSet language=\"C11\">\n"
                "      <SourceFile name=\"%s.c\"/>\n",
                name, name);
    if (fmu->open)
        nh_text_add(out, "      <SourceFile name=\"%s.c\"/>\n", fmu->open->name);
    nh_text_add(out,
                "      <SourceFile name=\"fmi3.c\"/>\n"
                "      <PreprocessorDefinition name=\"FMI3_OVERRIDE_FUNCTION_PREFIX\" "
                "optional=\"true\" description=\"for shared libraries: names without %s_\"/>\n"
                "    </SourceFileSet>\n"
                "    <Library name=\"m\" external=\"true\" description=\"the C library's "
                "mathematical functions\"/>\n"
                "  </BuildConfiguration>\n"
                "</fmiBuildDescription>\n",
                name);
}
