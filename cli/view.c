/* nonholo view: computes a trajectory and shows the moving mechanism in a browser.
 *
 * The page is the one that 'run --plot FILE.html' writes. It is served on a loopback address, to
 * this machine only, until the command is interrupted. */
#define _GNU_SOURCE
#include "checkpointing.h"
#include "command.h"
#include "message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

enum { REQUEST_LONGEST = 8192, PATIENCE_MS = 2000 };

/* ---- the page ------------------------------------------------------------------------------ */

typedef struct page {
    char path[64];
    char *text;
    size_t length;
} page;

static int fail(const char *what)
{
    complain("%s: %s", what, strerror(errno));
    return FAILED;
}

static int read_page(page *p)
{
    FILE *file = fopen(p->path, "rb");
    if (!file)
        return fail("cannot read the page");
    int answer = DONE;
    if (fseek(file, 0, SEEK_END) != 0 || ftell(file) < 0)
        answer = fail("cannot read the page");
    p->length = answer ? 0 : (size_t)ftell(file);
    rewind(file);
    p->text = answer ? NULL : malloc(p->length + 1);
    if (!answer && (!p->text || fread(p->text, 1, p->length, file) != p->length))
        answer = fail("cannot read the page");
    fclose(file);
    return answer;
}

/* As `run` does it, into a file that nobody else reads. */
static int make_page(page *p, const options *given)
{
    const char *folder = getenv("TMPDIR");
    int used = snprintf(p->path, sizeof p->path, "%s/nonholo-view-XXXXXX.html",
                        folder && folder[0] && strlen(folder) < 24 ? folder : "/tmp");
    int file = used < (int)sizeof p->path ? mkstemps(p->path, 5) : -1;
    if (file < 0)
        return fail("cannot create a temporary file");
    close(file);
    options run = *given;
    run.plot = p->path;
    int answer = command_run.run(&run);
    if (!answer)
        answer = read_page(p);
    return answer;
}

/* ---- serving ------------------------------------------------------------------------------- */

static int open_door(int *door, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int on = 1;
    *door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*door < 0)
        return fail("cannot open a socket");
    setsockopt(*door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(*door, (struct sockaddr *)&address, sizeof address) != 0 || listen(*door, 8) != 0) {
        complain("cannot listen on port %d of 127.0.0.1: %s", port, strerror(errno));
        close(*door);
        return FAILED;
    }
    return DONE;
}

static int port_of(int door)
{
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    return getsockname(door, (struct sockaddr *)&address, &length) == 0 ? ntohs(address.sin_port)
                                                                        : 0;
}

static void send_all(int to, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(to, data, length, MSG_NOSIGNAL);
        if (sent <= 0 && errno != EINTR)
            return;
        if (sent > 0) {
            data += sent;
            length -= (size_t)sent;
        }
    }
}

/* Reads the head of a request, as far as it arrives in time. */
static bool read_request(int from, char *request)
{
    size_t used = 0;
    while (used < REQUEST_LONGEST - 1) {
        struct pollfd wait = {.fd = from, .events = POLLIN};
        if (poll(&wait, 1, PATIENCE_MS) <= 0)
            break;
        ssize_t got = recv(from, request + used, REQUEST_LONGEST - 1 - used, 0);
        if (got <= 0)
            break;
        used += (size_t)got;
        request[used] = '\0';
        if (strstr(request, "\r\n\r\n"))
            return true;
    }
    return false;
}

/* Only pages from this address may ask for it, by whatever name they were reached. */
static bool is_for_us(const char *request, int port)
{
    char host[2][48];
    snprintf(host[0], sizeof host[0], "\r\nHost: 127.0.0.1:%d\r\n", port);
    snprintf(host[1], sizeof host[1], "\r\nHost: localhost:%d\r\n", port);
    return strcasestr(request, host[0]) || strcasestr(request, host[1]);
}

static void answer_one(int client, const page *p, int port)
{
    static const char *const missing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"
                                       "Connection: close\r\n\r\n";
    char request[REQUEST_LONGEST], head[256];
    if (!read_request(client, request))
        return;
    if (strncmp(request, "GET / ", 6) != 0 || !is_for_us(request, port)) {
        send_all(client, missing, strlen(missing));
        return;
    }
    int used = snprintf(head, sizeof head,
                        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
                        "Content-Length: %zu\r\nCache-Control: no-store\r\nConnection: close\r\n"
                        "X-Content-Type-Options: nosniff\r\n\r\n",
                        p->length);
    send_all(client, head, (size_t)used);
    send_all(client, p->text, p->length);
}

/* Serves the page until interrupted. */
static void serve(int door, const page *p, int port)
{
    while (!interrupted()) {
        struct pollfd wait = {.fd = door, .events = POLLIN};
        if (poll(&wait, 1, 200) <= 0)
            continue;
        int client = accept4(door, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0)
            continue;
        answer_one(client, p, port);
        close(client);
    }
}

/* ---- the command --------------------------------------------------------------------------- */

/* Without xdg-open, or without a display, printing the address is enough. */
static void open_browser(char *address)
{
    char *arguments[] = {"xdg-open", address, NULL};
    posix_spawn_file_actions_t quiet;
    pid_t child;
    if (posix_spawn_file_actions_init(&quiet) != 0)
        return;
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", 1, 0);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", 1, 0);
    if (posix_spawnp(&child, arguments[0], &quiet, NULL, arguments, environ) != 0)
        remark("xdg-open was not found; open the address in a browser yourself");
    posix_spawn_file_actions_destroy(&quiet);
}

static int run(const options *given)
{
    page p = {0};
    int door = -1, answer = make_page(&p, given);
    if (!answer)
        answer = open_door(&door, given->port < 0 ? 0 : (int)given->port);
    if (!answer) {
        char address[64];
        int port = port_of(door);
        snprintf(address, sizeof address, "http://127.0.0.1:%d/", port);
        printf("  shown at      %s until you press Ctrl-C\n", address);
        fflush(stdout);
        if (!given->no_open)
            open_browser(address);
        serve(door, &p, port);
    }
    if (door >= 0)
        close(door);
    if (p.path[0])
        unlink(p.path);
    free(p.text);
    return answer;
}

const command command_view = {
    .name = "view",
    .summary = "show the moving mechanism in a browser",
    .operands = "MODEL [--no-open] [--port N] [OPTION...]",
    .help =
        "Computes a trajectory as 'nonholo run' does and shows the page that --plot FILE.html\n"
        "would write: the mechanism described by the model's 'draw' statements, and plots that\n"
        "follow its time. The page is served at a loopback address, which is printed, until you\n"
        "press Ctrl-C. If xdg-open is installed, it opens the page in a browser.",
    .examples = "nonholo view rattleback\n"
                "nonholo view bicycle --set speed=3 --time 20 --no-open --port 8000",
    .options = OPTIONS_MODEL | OPTIONS_METHOD | OPTIONS_TIME | OPTIONS_SPEED | OPTIONS_TOLERANCE |
               OPTIONS_DENSE | OPTIONS_VIEW,
    .operands_least = 1,
    .operands_most = 1,
    .run = run,
};
