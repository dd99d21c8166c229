/* The methods that the matrix tests: every method with default options, and some with other
 * options. */
#ifndef TEST_METHOD_CHOICES_H
#define TEST_METHOD_CHOICES_H

#include <nonholo.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIST_MAX = 80 };

/* Option settings beyond each method's default. */
static const char *const variants[] = {
    "dla:alpha=0",
    "dla:alpha=1",
    "dla:alpha=0.3",
    "shifted:force=5/24",
    "shifted:force=0,reaction=0.1",
    "staggered:passengers=whole",
    "leapfrog:start=newmark",
    "gauss:stages=1",
    "gauss:stages=3",
    "newmark:beta=0.1",
    "newmark:constraint=average",
    "newmark:alpha=0",
    "newmark:beta=0.1,beta2=0.3,alpha=0.7",
    "newmark-pair:beta=0.1",
    "jay-negrut:beta=0.25",
    "jay-negrut:beta=0.3,gamma=0.7",
    "jay-negrut:beta=0.36,gamma=0.7,alpha_m=0.1,alpha_f=0.3",
    "lobatto-ab:stages=3",
    "lobatto-abd:stages=3",
    "lobatto-ad:stages=3",
    "lobatto-d:stages=3",
    "gauss-standard:stages=1",
    "gauss-standard:stages=3",
    "discrete-gradient:gradient=gonzalez",
    "discrete-gradient:gradient=itoh-abe,frame=model",
    "discrete-gradient:frame=householder",
    "discrete-gradient:frame=difference",
    "discrete-gradient:frame=model",
    "collocation:stages=1",
    "collocation:anchor=middle",
    "collocation:stages=1,anchor=middle",
    "collocation:frame=model",
    "collocation:frame=householder",
    "dop853:energy=free",
    "dop853:tolerance=1e-14",
};

static int list_choices(char list[LIST_MAX][64])
{
    int count = 0;
    if (nh_method_count() + sizeof variants / sizeof *variants > LIST_MAX) {
        fprintf(stderr, "there are many methods: let LIST_MAX be larger\n");
        exit(1);
    }
    for (int i = 0; i < nh_method_count(); i++)
        snprintf(list[count++], 64, "%s", nh_method_name(nh_method_at(i)));
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        snprintf(list[count++], 64, "%s", variants[i]);
    return count;
}

#endif
