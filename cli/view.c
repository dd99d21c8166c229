/* nonholo view: computes a trajectory and shows the moving mechanism in a browser.
 *
 * The page is the one that 'run --plot FILE.html' writes. It is served on a loopback address, to
 * this machine only, until the command is interrupted. */
#define _GNU_SOURCE
#include "checkpointing.h"
#include "command.h"
#include "message.h"
#include "progress.h"

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

enum { REQUEST_LONGEST = 8192, CLIENTS_MAX = 32, PATIENCE_SECONDS = 20, HTTP_PORT = 80 };

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
    *door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
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

/* Several clients at a time, none of which can hold up another: sockets do not block, and who does
 * nothing for a while, or longest when there are too many, is closed. */
typedef struct client {
    int socket; /* -1: none */
    char request[REQUEST_LONGEST];
    size_t read; /* bytes of the request so far */
    char head[256];
    size_t head_length, sent; /* of the answer: the head, then the page */
    const page *answer;       /* NULL: the request is not complete, or the head is all */
    double active;            /* when it last did something */
} client;

static void hang_up(client *c)
{
    close(c->socket);
    c->socket = -1;
}

/* Only pages from this address may ask for it, by whatever name they were reached. Browsers leave
 * out the port if it is that of the protocol. */
static bool is_for_us(const char *request, int port)
{
    static const char *const names[] = {"127.0.0.1", "localhost"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char host[2][48];
        snprintf(host[0], sizeof host[0], "\r\nHost: %s:%d\r\n", names[i], port);
        snprintf(host[1], sizeof host[1], "\r\nHost: %s\r\n", names[i]);
        if (strcasestr(request, host[0]) || (port == HTTP_PORT && strcasestr(request, host[1])))
            return true;
    }
    return false;
}

static void choose_answer(client *c, const page *p, int port)
{
    const bool found = strncmp(c->request, "GET / ", 6) == 0 && is_for_us(c->request, port);
    c->answer = found ? p : NULL;
    c->head_length = (size_t)snprintf(
        c->head, sizeof c->head,
        "HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %zu\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\nX-Content-Type-Options: nosniff\r\n\r\n",
        found ? "200 OK" : "404 Not Found", found ? p->length : 0);
}

static void read_request(client *c, const page *p, int port)
{
    const ssize_t got = recv(c->socket, c->request + c->read, REQUEST_LONGEST - 1 - c->read, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    c->read += got > 0 ? (size_t)got : 0;
    c->request[c->read] = '\0';
    if (got > 0 && strstr(c->request, "\r\n\r\n"))
        choose_answer(c, p, port);
    else if (got <= 0 || c->read == REQUEST_LONGEST - 1)
        hang_up(c);
}

static void send_some(client *c)
{
    const bool in_head = c->sent < c->head_length;
    const size_t length = c->head_length + (c->answer ? c->answer->length : 0);
    const char *from = in_head ? c->head + c->sent : c->answer->text + (c->sent - c->head_length);
    const ssize_t sent =
        send(c->socket, from, (in_head ? c->head_length : length) - c->sent, MSG_NOSIGNAL);
    c->sent += sent > 0 ? (size_t)sent : 0;
    if (c->sent == length || (sent < 0 && errno != EINTR && errno != EAGAIN))
        hang_up(c);
}

static void welcome(client *clients, int door)
{
    client *c = clients;
    for (int i = 1; i < CLIENTS_MAX && c->socket >= 0; i++)
        if (clients[i].socket < 0 || clients[i].active < c->active)
            c = clients + i;
    const int socket = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0)
        return;
    if (c->socket >= 0)
        hang_up(c);
    *c = (client){.socket = socket, .active = clock_seconds()};
}

static void serve_clients(client *clients, const struct pollfd *wait, const page *p, int port)
{
    for (int i = 0; i < CLIENTS_MAX; i++) {
        client *c = clients + i;
        if (c->socket < 0)
            continue;
        if (wait[i].revents)
            c->active = clock_seconds();
        else if (clock_seconds() - c->active > PATIENCE_SECONDS)
            hang_up(c);
        if (wait[i].revents && c->head_length == 0)
            read_request(c, p, port);
        else if (wait[i].revents)
            send_some(c);
    }
}

/* Serves the page until interrupted. */
static int serve(int door, const page *p, int port)
{
    client *clients = calloc(CLIENTS_MAX, sizeof *clients);
    if (!clients)
        return fail("cannot serve the page");
    for (int i = 0; i < CLIENTS_MAX; i++)
        clients[i].socket = -1;
    while (!interrupted()) {
        struct pollfd wait[CLIENTS_MAX + 1];
        for (int i = 0; i < CLIENTS_MAX; i++)
            wait[i] = (struct pollfd){.fd = clients[i].socket,
                                      .events = clients[i].head_length ? POLLOUT : POLLIN};
        wait[CLIENTS_MAX] = (struct pollfd){.fd = door, .events = POLLIN};
        if (poll(wait, CLIENTS_MAX + 1, 200) < 0)
            continue;
        serve_clients(clients, wait, p, port);
        if (wait[CLIENTS_MAX].revents)
            welcome(clients, door);
    }
    for (int i = 0; i < CLIENTS_MAX; i++)
        if (clients[i].socket >= 0)
            hang_up(clients + i);
    free(clients);
    return DONE;
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
        answer = serve(door, &p, port);
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
               OPTIONS_DENSE | OPTIONS_VIEW | OPTIONS_FILM,
    .operands_least = 1,
    .operands_most = 1,
    .run = run,
};
