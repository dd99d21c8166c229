#!/usr/bin/env python3
"""test_hostile.py NONHOLO: input made to crash the program, to exhaust it, or to have it run or write something.

Each input must be answered within seconds and with little memory: by an exit code of its own, by the message
that is expected, without control characters for the terminal, with nothing executed, and with no file but
those that were asked for. The inputs are counted; issue 6 asks for 100."""

import hashlib
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import xml.dom.minidom
import time

from harness import PATIENCE, Program, check, limit_processor, processor_seconds, run_all, same

nonholo = Program(sys.argv[1])
SANITIZED = os.path.exists(os.path.join(os.path.dirname(nonholo.path), "build.ninja")) and "-fsanitize=address" in \
    open(os.path.join(os.path.dirname(nonholo.path), "build.ninja"), errors="replace").read()
QUICKLY = processor_seconds(60)
CANARY = "canary"
RUN = ["run", "pendulum-cvt", "--method", "dla01", "--step", "0.1", "--steps", "100"]
MODEL = "model m\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2\nconstraint y' = x*x'\n"
count = 0


def limited():
    """4 GB of addresses (sanitizers need far more) and little processor time."""
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    limit_processor(QUICKLY)()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def answer(folder, arguments, code, message, keep=(), env=None, stdin=None):
    """Runs it in `folder` and checks that it does nothing forbidden."""
    global count
    count += 1
    shown = [a if len(a) < 60 else a[:60] + "..." for a in arguments]
    before, begun = set(os.listdir(folder)), time.monotonic()
    done = subprocess.run([nonholo.path, *arguments], cwd=folder, input=stdin, capture_output=True, timeout=PATIENCE,
                          preexec_fn=limited, env=dict(os.environ, NO_COLOR="1", LC_ALL="C", **(env or {})))
    told = done.stderr.decode("utf-8", "replace")
    if "NONHOLO_TIMES" in os.environ:
        print("%.2f s" % (time.monotonic() - begun), shown)
    same(done.returncode, code, "%s\n%s" % (shown, told[-300:]))
    check(message in told, "%s: %r is not in: %s" % (shown, message, told[-300:]))
    bad = {c for c in done.stderr.decode() if (c < " " and c not in "\n\t") or "\x7f" <= c < "\xa0"}
    check(not bad, "control characters %s on the terminal" % bad)
    check(not os.path.exists(os.path.join(folder, CANARY)), "%s: it was executed" % shown)
    same(set(os.listdir(folder)) - before, set(keep), "%s: files" % shown)
    return done


def write(folder, name, content):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


# ---- models ----

def nested(depth):
    return "(" * depth + "x" + ")" * depth


MODELS = [
    # (text, exit code, part of the message[, exit code of a run])
    ("model m\ncoordinate x\nlagrangian x'^2/2 + " + nested(100000) + "\n", 2, "nested"),
    ("model m\ncoordinate x\nlagrangian x'^2/2 + " + "-" * 100000 + "x\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2 + " + "sin(" * 5000 + "x" + ")" * 5000 + "\n", 2, "nested"),
    ("model m\ncoordinate x\nlagrangian x'^2/2 + x" + "^x" * 50000 + "\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2 + x" + "'" * 50000 + "\n", 2, ""),
    ("model m\ncoordinate y[1..999999999999]\nlagrangian y[1]'^2\n", 2, ""),
    ("model m\ncoordinate y[1..1e308]\nlagrangian y[1]'^2\n", 2, ""),
    ("model m\ncoordinate y[-9223372036854775808..9223372036854775807]\nlagrangian y[1]'^2\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2 + sum(i in 1..1000000: sum(j in 1..1000000: x*i*j))\n", 2, ""),
    ("model m\ncoordinate x\nlet a0 = x + 1\n" + "".join("let a%d = a%d*a%d + sin(a%d)\n" % (i + 1, i, i, i)
     for i in range(60)) + "lagrangian x'^2/2 + a60\n", 0, "", 1),  # towers of powers: not finite when computed
    ("model m\ncoordinate x\nlet f0(s) = s + s\n" + "".join("let f%d(s) = f%d(f%d(s))\n" % (i + 1, i, i)
     for i in range(40)) + "lagrangian x'^2/2 + f40(x)\n", 2, ""),
    ("model m\ncoordinate x\nlet f(s) = f(s)\nlagrangian x'^2/2 + f(x)\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2 + x^1000000000\n", 0, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2 + (x+1)^(2^(2^(2^(2^2))))\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2 + 1e400\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2 + " + "9" * 100000 + "\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2 + 0." + "0" * 100000 + "1\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2 + 1/0\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2 + 0^-1\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2 + sqrt(-1)\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian 0*x'^2\n", 2, "singular"),
    ("model m\ncoordinate x\nlagrangian x\n", 2, "singular"),
    ("model m\ncoordinate " + "x" * 100000 + "\nlagrangian 1\n", 2, ""),
    ("model " + "m" * 100000 + "\ncoordinate x\nlagrangian x'^2\n", 2, ""),
    ("model m\n" + "# c\n" * 1500000, 2, "megabytes"),
    ("model m\n" + "\n" * 3900000, 2, "no coordinates"),
    ("model m\ncoordinate x\nlagrangian x'^2" + " " * 3000000 + "\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian (x'^2\n" + "\n" * 100000, 2, ""),
    (b"model m\0\ncoordinate x\nlagrangian x'^2\n", 2, "NUL"),
    (b"model m\ncoordinate \xff\xfe\nlagrangian 1\n", 2, "UTF-8"),
    (b"model m\ncoordinate x\xc0\x80\nlagrangian 1\n", 2, "UTF-8"),
    (b"\x1b]0;title\x07\x1b[2Jmodel m\n", 2, "control character"),
    ("model m\ncoordinate x\u202e\u0660\nlagrangian x'^2\n", 2, ""),
    (b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 50, 2, ""),
    (b"\x89HDF\r\n\x1a\n" + bytes(1000), 2, ""),
    ("model m\ncoordinate system, main, exit\nlagrangian (system'^2 + main'^2 + exit'^2)/2\n", 0, ""),
    ("model m\ncoordinate int, return, asm\nlagrangian (int'^2 + return'^2 + asm'^2)/2 - int^2*asm\n", 0, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2; system(\"touch canary\")\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2 + `touch canary`\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2 + $(touch canary)\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2 + __builtin_trap()\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2 */ int main(void){} /*\n", 2, ""),
    ("model m\n#include </etc/passwd>\ncoordinate x\nlagrangian x'^2/2\n", 0, ""),  # a comment
    ("model m\ncoordinate x\nlagrangian x'^2/2 \\\n#define N 3\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2 %n%n%n%s%s\n", 2, ""),
    ("model ../../m\ncoordinate x\nlagrangian x'^2/2\n", 2, ""),
    ("model m\ncoordinate x\nvelocity w\nbracket [w, w] = w\nlagrangian x'^2 + w^2\n", 2, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2\nobserve o = " + "x*" * 100000 + "x\n", 0, ""),
    ("model m\ncoordinate x\nlagrangian x'^2/2\nconstraint x' = 0\nconstraint x' = 0\n", 2, ""),
]


def test_models():
    with tempfile.TemporaryDirectory() as folder:
        for number, (text, code, message, *then) in enumerate(MODELS):
            name = "m%d.nh" % number
            write(folder, name, text)
            answer(folder, ["check", name], code, message)
            if code == 0:  # accepted models are computed, by every backend
                for backend in ("tape", "compiled"):
                    answer(folder, ["run", name, "--method", "gauss", "--step", "0.01", "--steps", "3", "--backend",
                                    backend], *(then or [0]), "give no number" if then else "")
            os.remove(os.path.join(folder, name))


# ---- paths and words ----

def test_paths():
    with tempfile.TemporaryDirectory() as folder:
        os.symlink("loop.nh", os.path.join(folder, "loop.nh"))
        os.mkdir(os.path.join(folder, "folder.nh"))
        for model, code, message in [
            ("/dev/zero", 2, "longer than 4 megabytes"), ("/dev/null", 2, "no statement"), ("/dev/stdin", 2, ""),
            ("./loop.nh", 1, "Too many levels"), ("./folder.nh", 1, "Is a directory"),
            ("/proc/self/mem", 1, "cannot read"), ("x" * 5000 + ".nh", 1, "File name too long"),
            ("../" * 2000 + "x.nh", 1, ""), ("$(touch canary)", 2, "no model"), ("`touch canary`.nh", 1, ""),
            ("%s%n%x", 2, "no model"), ("\x1b[31mred", 2, "no model"), ("", 2, ""), ("a\nb", 2, "no model"),
            ("|touch canary", 2, "no model"),
        ]:
            answer(folder, ["check", model], code, message)
        for output in ("; touch canary;.csv", "$(touch canary).csv", "-.csv", "%n%s.csv", "a\nb.csv", " .csv"):
            answer(folder, [*RUN, "--output=" + output], 0, "", keep=[output])
            os.remove(os.path.join(folder, output))
        for plot in ("'; touch canary; '.svg", "\"; system('touch canary'); \".svg", "a`touch canary`.svg"):
            answer(folder, [*RUN, "--plot", plot], 0, "", keep=[plot])
            os.remove(os.path.join(folder, plot))


def test_options():
    with tempfile.TemporaryDirectory() as folder:
        for extra, code, message in [
            (["--method", "%n%n%n"], 2, "unknown method"), (["--method", "gauss:" + "stages=" * 10000], 2, ""),
            (["--method", "gauss:stages=1e308"], 2, ""), (["--method", "dla:alpha=" + "9" * 5000], 2, ""),
            (["--method", "newmark:beta=nan"], 2, ""), (["--method", "x" * 100000], 2, "too long for a method's name"),
            (["--set", "eps=" + nested(50000)], 2, ""), (["--set", "eps=1/0"], 2, ""),
            (["--set", "=" * 1000], 2, ""), (["--start", "x=" + "sin(" * 3000 + "1" + ")" * 3000], 2, ""),
            (["--q", ",".join(["1"] * 50000)], 2, ""), (["--q", "nan,nan,nan"], 2, ""),
            (["--step", "1e-400"], 2, ""), (["--step", "-inf"], 2, ""), (["--steps", "1e300"], 2, ""),
            (["--every", "0"], 2, ""), (["--t0", "nan"], 2, ""), (["--compose", "../suzuki"], 2, ""),
        ]:
            answer(folder, [*RUN, *extra], code, message)


# ---- checkpoints, forged with the right digest ----

def signed(body):
    return body + hashlib.sha256(body).hexdigest().encode()


def pieces(*items):
    body = b"nonholo checkpoint 1\n" + struct.pack("<q", len(items))
    return signed(body + b"".join(struct.pack("<q", len(i)) + i for i in items))


def taken_apart(data):
    at, found = data.index(b"\n") + 1, []
    number = struct.unpack_from("<q", data, at)[0]
    at += 8
    for _ in range(number):
        size = struct.unpack_from("<q", data, at)[0]
        found.append(data[at + 8:at + 8 + size])
        at += 8 + size
    return found


def make_checkpoint(folder, *extra):
    """Makes a checkpoint of a run that is stopped before its end."""
    path = os.path.join(folder, "c")
    child = subprocess.Popen([nonholo.path, *RUN[:-1], "1e9", "--checkpoint", path, "--checkpoint-every", "1000", *extra],
                             cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists(path):
        check(child.poll() is None, "it ended")
    child.kill()
    child.wait()
    with open(path, "rb") as file:
        data = file.read()
    for name in ("c", "c.part"):
        if os.path.exists(os.path.join(folder, name)):
            os.remove(os.path.join(folder, name))
    return data


def test_checkpoints():
    magic = b"nonholo checkpoint 1\n"
    with tempfile.TemporaryDirectory() as folder:
        genuine = make_checkpoint(folder)
        run, notes = taken_apart(genuine)
        check(pieces(run, notes) == genuine, "the layout of checkpoints is another one")
        version = run.index(b"0.1.0")
        forged = [
            (b"", "not a checkpoint"), (magic, "not a checkpoint"), (genuine[:-1], "digest"),
            (genuine + b"x", "digest"), (signed(magic), "impossible number of pieces"),
            (signed(magic + struct.pack("<q", -1)), "impossible number of pieces"),
            (signed(magic + struct.pack("<q", 1 << 60)), "impossible number of pieces"),
            (signed(magic + struct.pack("<qq", 1, -1)), "longer than the file"),
            (signed(magic + struct.pack("<qq", 1, 1 << 62)), "longer than the file"),
            (signed(genuine[:-64] + b"more"), "longer than its pieces"),
            (signed(magic.replace(b"1", b"2") + genuine[len(magic):-64]), "version"),
            (pieces(run), "this is not a checkpoint of a single run"), (pieces(), "this is not a checkpoint of a single run"),
            (pieces(notes, run), "not a checkpoint"), (pieces(b"", notes), ""), (pieces(run[:-8], notes), ""),
            (pieces(run + b"\0" * 8, notes), ""), (pieces(b"\xff" * len(run), notes), ""),
            (pieces(run[:version] + b"0.0.9" + run[version + 5:], notes), "its version of nonholo is 0.0.9, here it is 0.1.0"),
            (pieces(run[:version] + b"\x1b\x9b\xffab" + run[version + 5:], notes), "its version of nonholo is ???ab"),
            (pieces(run, b"\xff" * len(notes)), ""), (pieces(run, b"\x7f" * len(notes)), ""),
            (pieces(run, b"\0" * len(notes)), ""),
        ]
        for bad, message in forged:
            write(folder, "bad", bad)
            answer(folder, [*RUN[:-1], "1e9", "--resume", "bad"], 2, message)
            os.remove(os.path.join(folder, "bad"))
        # one byte after the other becomes another one, with the right digest: any answer but a crash
        for at in range(0, len(run), max(1, len(run) // 40)):
            write(folder, "bad", pieces(run[:at] + bytes([run[at] ^ 0x81]) + run[at + 1:], notes))
            global count
            count += 1
            done = subprocess.run([nonholo.path, *RUN[:-1], "5000", "--resume", "bad"], cwd=folder, timeout=PATIENCE,
                                  capture_output=True, preexec_fn=limited)
            check(done.returncode in (0, 1, 2), "byte %d: %s %s" % (at, done.returncode, done.stderr[-300:]))
            if os.path.exists(os.path.join(folder, "bad")):
                os.remove(os.path.join(folder, "bad"))


def test_checkpoints_with_files():
    """Notes that point beyond the file, behind it, before it."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("r.csv", "r.npy", "r.npz"):
            run, notes = taken_apart(make_checkpoint(folder, "-o", name))
            for position in (-1, 1 << 62, -(1 << 63)):
                elsewhere = notes[:24] + struct.pack("<q", position) + notes[32:]
                unmarked = elsewhere[:-40] + bytes(8) + elsewhere[-32:]
                for forged in (elsewhere, unmarked):  # with the notes about the rows, and without them
                    write(folder, "bad", pieces(run, forged))
                    answer(folder, [*RUN[:-1], "1e9", "-o", name, "--resume", "bad"], 1, "cannot resume %s" % name)


# ---- figures ----

FIGURE = "figure f\nmodel pendulum-cvt\nstep .1\ntime 1\nmethod dla01\npanel\n  draw energy\n"
FIGURES = [
    ("figure ../../f\n", 2, "a figure's name consists of"), ("figure /tmp/f\n", 2, "a figure's name consists of"),
    ("figure $(touch\n", 2, "a figure's name consists of"), ("figure " + "f" * 5000 + "\n", 2, ""),
    (b"figure f\0\n", 2, ""), (b"\x1b[2Jfigure f\n", 2, ""), ("figure f\n" + "case c%d\n" * 3 % (1, 1, 1), 2, ""),
    ("figure f\nmembers 99999999999999\n", 2, ""), ("figure f\nhalvings 1000000\n", 2, ""),
    ("figure f\nstep nan\n", 2, ""), ("figure f\ntime inf\n", 2, ""), ("figure f\nstep 1e-300\ntime 1e300\nmodel pendulum-cvt\n"
     "method dla01\npanel\n draw energy\n", 2, "too many steps"),
    (FIGURE.replace("time 1", "time 1e9\nevery 1"), 2, "too many to keep"),
    (FIGURE.replace("draw", "draw " + "error " * 5000), 2, ""), (FIGURE.replace("energy", "system('touch canary')"), 2, ""),
    ("figure f\n" + "method dla01 \"%d\"\n" * 1000 % tuple(range(1000)), 2, ""), ("figure f\n\"" + "x" * 3000000, 2, ""),
    (FIGURE + "finding " + "max " * 3000 + "\n", 2, ""), ("figure f\nmodel /dev/zero\nstep .1\ntime 1\nmethod dla01\npanel\n draw t\n", 2, ""),
]


def test_figures():
    with tempfile.TemporaryDirectory() as folder:
        for text, code, message in FIGURES:
            write(folder, "f.fig", text)
            answer(folder, ["reproduce", "./f.fig", "--out", folder], code, message)
        title = "</script><script>alert(1)</script>'; system(\"touch canary\"); `touch canary` \\"
        write(folder, "f.fig", FIGURE.replace("model", "title \"%s\"\nmodel" % title.replace('"', "'")))
        answer(folder, ["reproduce", "./f.fig", "--out", folder], 0, "", keep=["f.svg", "f.png", "f.html", "f.csv"])
        check("<script>alert" not in open(os.path.join(folder, "f.html")).read(), "a title became a script")


# ---- recorded data ----

def test_data():
    """Files that were damaged are not drawn; names of columns do not break a picture."""
    with tempfile.TemporaryDirectory() as folder:
        answer(folder, [*RUN, "-o", "a.npz"], 0, "", keep=["a.npz"])
        answer(folder, [*RUN, "-o", "a.npy"], 0, "", keep=["a.npy"])
        whole, plain = (open(os.path.join(folder, name), "rb").read() for name in ("a.npz", "a.npy"))
        middle, second = len(whole) // 2, whole.index(b"PK\3\4", 100)
        changed = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1:]
        for name, data, code, message in [
            ("x.npz", changed, 1, "the checksum of"), ("x.npz", whole[:middle], 1, "the checksum of"),
            ("x.npz", whole[:second], 2, "not an array"), ("x.npz", whole[:whole.index(b"PK\1\2")], 2, "not an array"),
            ("x.npy", plain + plain, 2, "not an array"), ("x.npy", plain[:-8], 2, "not an array"),
        ]:
            write(folder, name, data)
            answer(folder, ["plot", name, "-o", "x.svg"], code, message)
        for name in ("]]>", "<a>&\"'", "\x1b[31m", "\x9b31m", "\ufffe", b"\xff\xfe", "[[]]]>>"):
            name = name if isinstance(name, bytes) else name.encode()
            write(folder, "x.csv", b"t," + name + b"\n0,1\n1,3\n2,2\n")
            done = answer(folder, ["plot", "x.csv", "-o", "x.svg"], 0, "", keep=["x.svg"])
            xml.dom.minidom.parse(os.path.join(folder, "x.svg"))
            os.remove(os.path.join(folder, "x.svg"))


def test_input_tables():
    """Columns are found by their names; nothing is guessed."""
    with tempfile.TemporaryDirectory() as folder:
        write(folder, "m.nh", "model m\ncoordinate x\ninput u = 0\nlagrangian x'^2/2\nforce x = u\n")
        for header, message in [
            ("t,w", "no column 'u' among 't,w'"), ("force,time", "no column 'u'"), ("a,b", "no column 't'"), ("u,w", "no column 't'"),
            ("t,u,u", "more than one column 'u'"), ("t,time,u", "more than one column"), ("T,u", "no column 't'"), ("t,\x1b[31m", "no column 'u'"),
            ("t;u", ""), ("u,t", ""), ("time,w,u", ""), ('"t","u"', ""),
        ]:
            write(folder, "u.csv", header + "\n" + "\n".join(",".join(str(i + k) for k in range(header.count(",") + header.count(";") + 1)) for i in range(3)) + "\n")
            answer(folder, ["run", "m.nh", "--time", "1", "--input", "u=u.csv"], 2 if message else 0, message)


# ---- the server of `view` ----

def ask(port, request, room=None):
    """A connection that has sent this."""
    connection = socket.socket()
    if room:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    connection.connect(("127.0.0.1", port))
    connection.sendall(request)
    return connection


def answered(connection):
    connection.settimeout(PATIENCE)
    whole = b""
    while part := connection.recv(1 << 16):
        whole += part
    connection.close()
    return whole


def test_view():
    """Clients that send nothing, or half a request, or do not read, do not hold up others."""
    with tempfile.TemporaryDirectory() as folder:
        command = [nonholo.path, "view", "rattleback", "--time", "20", "--no-open", "--quiet"]
        child = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8")
        port = next(int(line.split(":")[2].split("/")[0]) for line in child.stdout if "shown at" in line)
        good = f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode()
        page = answered(ask(port, good))
        check(page.startswith(b"HTTP/1.1 200") and b"</html>" in page, page[:300])
        idle = [ask(port, text, room) for text, room in 20 * [(b"", None), (b"GET / HTTP/1.1\r\n", None), (good, 2048)]]
        begun = time.monotonic()
        for k in range(5):
            check(answered(ask(port, good)) == page, "another page")
        check(time.monotonic() - begun < 10, "others waited %g seconds" % (time.monotonic() - begun))
        for wrong in (good.replace(b"localhost", b"evil.example"), good.replace(b":%d" % port, b""), good.replace(b"GET / ", b"GET /x "),
                      b"POST" + good[3:], good.replace(b"localhost", b"localhost.evil")):
            check(answered(ask(port, wrong)).startswith(b"HTTP/1.1 404"), wrong)
        for connection in idle:
            connection.close()
        child.terminate()
        child.wait()


# ---- lists of starts, the environment ----

def test_starts():
    line = ["ensemble", "pendulum-cvt", "--method", "dla01", "--step", "0.1", "--steps", "2", "--starts"]
    with tempfile.TemporaryDirectory() as folder:
        for text, message in [
            ("", "must name the columns"), ("x\n", "no start states"), ("x,x\n1,1\n", "occurs twice"), ("x\nnan\n", "not a number"),
            ("x\n1e999\n", "not a number"), ("x\n1,2\n", "more numbers"), ("x,y\n1\n", "1 number for 2"),
            ("\x1b[31m\n1\n", "no coordinate"), ("x\n0x1p\n", ""), (b"x\0y\n1\n", "a NUL byte"), ("," * 1000000 + "\n1\n", "no coordinate"), ("\0" * 1000, "a NUL byte"),
            ("x\n" + "1" * 1000000 + "\n", "not a number"),
        ]:
            write(folder, "s.csv", text)
            answer(folder, [*line, "s.csv"], 2, message)
        answer(folder, [*line, "/dev/zero"], 2, "a NUL byte")
        answer(folder, [*line, folder], 1, "Is a directory")
        answer(folder, [*line, "/dev/stdin"], 2, "no coordinate", stdin=bytes(range(1, 256)) * 100)


def build_poison(folder, source="kernel.c"):
    """A library that leaves a canary when it is loaded."""
    write(folder, source, '#include <stdio.h>\n__attribute__((constructor)) static void go(void) '
          '{ FILE *f = fopen("%s", "w"); if (f) fclose(f); }\n' % CANARY)
    made = os.path.join(folder, "poison.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", made, os.path.join(folder, source)], check=True)
    os.remove(os.path.join(folder, source))
    with open(made, "rb") as file:
        data = file.read()
    os.remove(made)
    return data


def test_cache():
    """Kernels that somebody else has put into the cache are not loaded; numbers stay the same."""
    line = [*RUN, "--backend", "compiled", "--no-estimate", "--json"]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as place:
        end = nonholo.json(*RUN)["q"]
        env = {"XDG_CACHE_HOME": place}
        answer(folder, line, 0, "", env=env)
        cache = os.path.join(place, "nonholo")
        made = [f for f in os.listdir(cache) if f.endswith(".so")]
        same(len(made), 1, "kernels in the cache")
        kernel = os.path.join(cache, made[0])
        with open(kernel, "rb") as file:
            genuine = file.read()
        poison = build_poison(folder)

        def again(what):
            done = answer(folder, line, 0, "", env=env)
            import json
            same(json.loads(done.stdout)["q"], end, what)

        def exchanged(data, what):
            os.remove(kernel)
            write(cache, made[0], data)
            again(what)

        def seal(data, name):
            data += name.encode()
            return data + hashlib.sha256(data).hexdigest().encode()

        answer(folder, [*line, "--set", "eps=0.2"], 0, "", env=env)
        other, = {f for f in os.listdir(cache) if f.endswith(".so")} - set(made)
        with open(os.path.join(cache, other), "rb") as file:
            exchanged(file.read(), "another model's kernel")
        exchanged(poison, "another content")
        exchanged(b"", "an empty file")
        exchanged(genuine[:-1] + b"x", "a wrong digest")
        exchanged(seal(poison, other[:-3]), "another name inside")
        os.remove(kernel)
        os.symlink("/proc/self/exe", kernel)
        again("a link")

        def not_used(what, reason, **more):
            """Not even if it is sealed as it should be."""
            done = answer(folder, ["cache"], 1, reason, env={**env, **more})
            again(what)

        os.remove(kernel)
        write(cache, made[0], seal(poison, made[0][:-3]))
        os.chmod(cache, 0o777)
        not_used("a folder that all may write to", "other users may write to")
        os.chmod(cache, 0o700)
        os.chmod(place, 0o777)
        not_used("a folder that can be exchanged", "other users may write to")
        answer(folder, line, 1, "cannot create a working folder", env={"XDG_CACHE_HOME": "", "HOME": "", "TMPDIR": place})
        os.chmod(place, 0o1777)  # as /tmp is
        os.chmod(kernel, 0o666)
        again("a kernel that all may write to")
        if os.geteuid() == 0:
            for wrong in (cache, place):
                write(cache, made[0], seal(poison, made[0][:-3]))
                os.chown(wrong, 65534, 65534)
                not_used(f"{wrong} of somebody else", "belongs to another user")
                os.chown(wrong, 0, 0)
            os.chown(kernel, 65534, 65534)
            again("a kernel of somebody else")


def test_environment():
    with tempfile.TemporaryDirectory() as folder:
        line = [*RUN, "--backend", "compiled"]
        fresh = os.path.join(folder, "cache")
        os.mkdir(fresh)
        for env, code in [
            ({"XDG_CACHE_HOME": "../" * 3000}, 0), ({"XDG_CACHE_HOME": "/" + "x" * 8000}, 0), ({"HOME": "%n%s"}, 0),
            ({"XDG_CACHE_HOME": fresh, "NONHOLO_CC": "touch canary; cc"}, 1),
            ({"XDG_CACHE_HOME": fresh, "NONHOLO_CC": "/dev/null"}, 1),
            ({"XDG_CACHE_HOME": fresh, "NONHOLO_CC": folder}, 1), ({"XDG_CACHE_HOME": fresh, "PATH": ""}, 1),
            ({"XDG_CACHE_HOME": fresh, "NONHOLO_CC": "/bin/true"}, 1), ({"XDG_CACHE_HOME": fresh, "NONHOLO_CC": "/bin/false"}, 1),
        ]:
            answer(folder, line, code, "", env=env)




code = run_all([(name, test) for name, test in list(globals().items()) if name.startswith("test_")], workers=1)
print("%d hostile inputs" % count)
sys.exit(code or count < 100)
