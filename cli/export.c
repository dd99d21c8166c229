/* nonholo export: writes a model as a program or as equations for other software. */
#include "command.h"
#include "message.h"
#include "method_list.h"
#include "subject.h"

#include <math.h>
#include <stdio.h>

static int write_export(const subject *s, const options *given)
{
    nh_report report;
    nh_run_options run = run_options(given, given->method, isnan(given->step) ? 0 : given->step, 0);
    run.t0 = s->t;
    run.q = s->q;
    run.v = s->v;
    nh_export_options wanted = nh_export_options_default();
    wanted.format = nh_export_format(given->format);
    wanted.name = given->name;
    wanted.run = &run;
    wanted.single = given->real == 1;
    wanted.settable = given->settable;
    wanted.jacobian = given->jacobian;
    wanted.fmi = given->fmi % 2 ? 2 : 3; /* the choices are 3|2|3.0|2.0 */
    const char *path = given->output ? given->output : "-";
    if (nh_export(s->system, &wanted, path, &report) != NH_OK)
        return complain_report(&report);
    if (report.text[0])
        remark("%s", report.text);
    return DONE;
}

static int run(const options *given)
{
    subject s;
    int answer = subject_find(&s, given);
    if (!answer)
        answer = subject_open(&s, given);
    if (!answer)
        answer = write_export(&s, given);
    subject_free(&s);
    return answer;
}

const command command_export = {
    .name = "export",
    .summary = "write a model as a program or as equations",
    .operands = "MODEL --format FORMAT [-o FILE] [OPTION...]",
    .help =
        "Writes MODEL for use in other programs. The format c is a C program without\n"
        "dependencies that computes the same steps as 'nonholo run', bit for bit; -o NAME.c\n"
        "also writes NAME.h; with --settable its parameters can be set while it runs, and with\n"
        "--jacobian it has the derivatives of its accelerations. The format fmu is a\n"
        "functional mock-up unit NAME.fmu for\n"
        "co-simulation with the same steps and for model exchange. The other formats contain\n"
        "the equations with named parameters: numpy code (python), a script that rebuilds the\n"
        "model with SymPy (sympy), functions of CasADi (casadi), a function file for MATLAB\n"
        "and Octave (matlab), a model of Modelica (modelica), the expression graph (json), and\n"
        "a document (latex).\n"
        "Without -o, text is written to standard output.",
    .examples = "nonholo export pendulum-cvt --format c --method dla01 --step 0.05 -o cvt.c\n"
                "cc -O3 -DNONHOLO_MAIN cvt.c -lm -o cvt && ./cvt 1000\n"
                "nonholo export pendulum-cvt --format fmu --step 0.05 -o cvt.fmu",
    .options = OPTIONS_MODEL | OPTIONS_METHOD | OPTIONS_EXPORT,
    .operands_least = 1,
    .operands_most = 1,
    .run = run,
};
