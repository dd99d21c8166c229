"""A small importer of FMUs, versions 2.0 and 3.0: reads and checks the description, loads the binary, runs it
in co-simulation or integrates it in model exchange. The rules are those of the standard."""

import ctypes as C
import os
import platform
import re
import xml.etree.ElementTree as ET
import zipfile

FUNCTIONS = {
    2: "GetTypesPlatform GetVersion SetDebugLogging Instantiate FreeInstance SetupExperiment EnterInitializationMode "
       "ExitInitializationMode Terminate Reset GetReal GetInteger GetBoolean GetString SetReal SetInteger SetBoolean "
       "SetString GetFMUstate SetFMUstate FreeFMUstate SerializedFMUstateSize SerializeFMUstate DeSerializeFMUstate "
       "GetDirectionalDerivative EnterEventMode NewDiscreteStates EnterContinuousTimeMode CompletedIntegratorStep "
       "SetTime SetContinuousStates GetDerivatives GetEventIndicators GetContinuousStates "
       "GetNominalsOfContinuousStates SetRealInputDerivatives GetRealOutputDerivatives DoStep CancelStep GetStatus "
       "GetRealStatus GetIntegerStatus GetBooleanStatus GetStringStatus".split(),
    3: "GetVersion SetDebugLogging InstantiateModelExchange InstantiateCoSimulation InstantiateScheduledExecution "
       "FreeInstance EnterInitializationMode ExitInitializationMode EnterEventMode Terminate Reset GetNumberOfVariableDependencies "
       "GetVariableDependencies GetFMUState SetFMUState FreeFMUState SerializedFMUStateSize SerializeFMUState "
       "DeserializeFMUState GetDirectionalDerivative GetAdjointDerivative EnterConfigurationMode ExitConfigurationMode "
       "GetIntervalDecimal GetIntervalFraction GetShiftDecimal GetShiftFraction SetIntervalDecimal SetIntervalFraction "
       "SetShiftDecimal SetShiftFraction EvaluateDiscreteStates UpdateDiscreteStates EnterContinuousTimeMode "
       "CompletedIntegratorStep SetTime SetContinuousStates GetContinuousStateDerivatives GetEventIndicators "
       "GetContinuousStates GetNominalsOfContinuousStates GetNumberOfEventIndicators GetNumberOfContinuousStates "
       "EnterStepMode GetOutputDerivatives DoStep ActivateModelPartition".split()
       + [verb + kind for verb in ("Get", "Set") for kind in
          "Float32 Float64 Int8 UInt8 Int16 UInt16 Int32 UInt32 Int64 UInt64 Boolean String Binary Clock".split()],
}
assert len(FUNCTIONS[2]) == 44 and len(FUNCTIONS[3]) == 75

# causality, variability, initial that may occur together (of what continuous models need)
COMBINATIONS = {
    ("independent", "continuous", None),
    ("parameter", "fixed", "exact"), ("parameter", "tunable", "exact"),
    ("input", "discrete", None), ("input", "continuous", None),
    ("output", "continuous", "exact"), ("output", "continuous", "calculated"), ("output", "continuous", "approx"),
    ("local", "constant", "exact"),
    ("local", "continuous", "exact"), ("local", "continuous", "calculated"), ("local", "continuous", "approx"),
}

INDICES = r"(\[\d+(,\d+)*\])?"
IDENTIFIER = rf"[A-Za-z_]\w*{INDICES}(\.[A-Za-z_]\w*{INDICES})*"
NAME = re.compile(rf"({IDENTIFIER}|der\({IDENTIFIER}(,\d+)?\))\Z", re.ASCII)


class Variable:
    def __init__(self, element, version):
        kind = element if version == 3 else element[0]
        self.type = kind.tag
        self.name = element.get("name")
        self.reference = int(element.get("valueReference"))
        self.causality = element.get("causality", "local")
        self.variability = element.get("variability", "continuous")
        self.initial = element.get("initial")
        self.start = None if kind.get("start") is None else float(kind.get("start"))
        self.derivative = None if kind.get("derivative") is None else int(kind.get("derivative"))
        self.unit = kind.get("unit")
        self.reinit = kind.get("reinit") == "true"


class Description:
    """modelDescription.xml; `problems` lists violations of the standard."""

    def __init__(self, text):
        root = ET.fromstring(text)
        self.root = root
        self.version = int(root.get("fmiVersion")[0])
        self.token = root.get("instantiationToken" if self.version == 3 else "guid")
        self.variables = [Variable(e, self.version) for e in root.find("ModelVariables")]
        self.by_name = {v.name: v for v in self.variables}
        self.interfaces = {e.tag: e for e in root if e.tag in ("ModelExchange", "CoSimulation")}
        self.directions = {e.get("providesDirectionalDerivatives" if self.version == 3 else "providesDirectionalDerivative") == "true"
                           for e in self.interfaces.values()} == {True}
        self.identifier = next(iter(self.interfaces.values())).get("modelIdentifier")
        self.outputs = self._unknowns("Outputs", "Output")
        self.derivatives = self._unknowns("Derivatives", "ContinuousStateDerivative")
        self.initial_unknowns = self._unknowns("InitialUnknowns", "InitialUnknown")
        self.states = [self._referred(v.derivative) for v in self.derivatives]
        self.indicators = (int(root.get("numberOfEventIndicators", 0)) if self.version == 2
                           else len(root.findall("ModelStructure/EventIndicator")))
        self.problems = list(self._check())

    def _referred(self, key):
        """A variable, given by its value reference or its position, as in the model structure."""
        if self.version == 2:
            return self.variables[key - 1]
        return next(v for v in self.variables if v.reference == key)

    def _unknowns(self, plural, single):
        path = f"ModelStructure/{plural}/Unknown" if self.version == 2 else f"ModelStructure/{single}"
        key = "index" if self.version == 2 else "valueReference"
        return [self._referred(int(e.get(key))) for e in self.root.findall(path)]

    def _check(self):
        if not re.match(r"[A-Za-z_]\w*\Z", self.identifier, re.ASCII):
            yield f"the identifier {self.identifier} is no name of C"
        if not self.token:
            yield "there is no token"
        if len(self.by_name) != len(self.variables):
            yield "names occur twice"
        if len({v.reference for v in self.variables}) != len(self.variables):
            yield "value references occur twice"
        if sum(v.causality == "independent" for v in self.variables) != 1:
            yield "there is not one independent variable"
        units = {e.get("name") for e in self.root.findall("UnitDefinitions/Unit")}
        for v in self.variables:
            yield from self._check_variable(v, units)
        yield from self._check_structure()

    def _check_variable(self, v, units):
        if not NAME.match(v.name):
            yield f"{v.name} is no structured name"
        if v.type != ("Real" if self.version == 2 else "Float64"):
            yield f"{v.name} has type {v.type}"
        if (v.causality, v.variability, v.initial) not in COMBINATIONS:
            yield f"{v.name}: {v.causality}, {v.variability} and {v.initial} do not go together"
        wants_start = v.initial in ("exact", "approx") or v.causality == "input"
        if wants_start != (v.start is not None):
            yield f"{v.name}: start value"
        if v.unit is not None and v.unit not in units:
            yield f"{v.name}: the unit {v.unit} is not defined"
        if v.reinit and v not in self.states:
            yield f"{v.name} is no state and cannot jump"

    def _check_structure(self):
        if self.outputs != [v for v in self.variables if v.causality == "output"]:
            yield "outputs are not those of the structure"
        if len(set(map(id, self.states))) != len(self.derivatives):
            yield "states occur twice"
        for v in self.states + self.derivatives:
            if v.variability != "continuous":
                yield f"{v.name} is no continuous state"
        unknown = {v.name for v in self.outputs + self.states + self.derivatives if v.initial in ("calculated", "approx")}
        if unknown != {v.name for v in self.initial_unknowns}:
            yield "initial unknowns are not those of the structure"
        if len(self.initial_unknowns) != len(unknown):
            yield "initial unknowns occur twice"


def platform_folder(version):
    """The folder of the binary for this machine, or None."""
    if platform.system() != "Linux":
        return None
    machine = platform.machine()
    return {2: {"x86_64": "linux64"}, 3: {"x86_64": "x86_64-linux", "aarch64": "aarch64-linux"}}[version].get(machine)


class Fmu:
    """An FMU that is unpacked into a folder."""

    def __init__(self, path, folder):
        self.folder = folder
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            self.names = archive.namelist()
            archive.extractall(folder)
        with open(os.path.join(folder, "modelDescription.xml"), encoding="utf-8") as file:
            self.description = Description(file.read())
        self.version = self.description.version
        self.binary = f"binaries/{platform_folder(self.version)}/{self.description.identifier}.so"

    def load(self, path=None):
        self.library = C.CDLL(path or os.path.join(self.folder, self.binary))
        for name in FUNCTIONS[self.version]:
            getattr(self.library, f"fmi{self.version}{name}")  # AttributeError: it is missing


Double, Size, Pointer = C.c_double, C.c_size_t, C.c_void_p
LOG3 = C.CFUNCTYPE(None, Pointer, C.c_int, C.c_char_p, C.c_char_p)
LOG2 = C.CFUNCTYPE(None, Pointer, C.c_char_p, C.c_int, C.c_char_p, C.c_char_p, C.c_char_p)
UPDATE3 = C.CFUNCTYPE(None, Pointer, Double, C.c_bool, C.c_bool, C.c_bool, C.c_bool, C.POINTER(C.c_bool), C.POINTER(Double))


class Callbacks2(C.Structure):
    _fields_ = [("logger", LOG2), ("allocate", Pointer), ("free", Pointer), ("finished", Pointer), ("environment", Pointer)]


class EventInfo2(C.Structure):
    _fields_ = [(name, C.c_int) for name in ("needed", "terminate", "nominals", "changed", "defined")] + [("time", Double)]


class Failure(Exception):
    """A function returned something other than OK or a warning."""


class Instance:
    """An instance of an FMU; `kind` is 'CoSimulation' or 'ModelExchange'."""

    def __init__(self, fmu, kind, update=None, early=False, token=None):
        self.fmu, self.kind, self.messages = fmu, kind, []
        self.version = fmu.version
        d = fmu.description
        token = (token or d.token).encode()
        if self.version == 3:
            self._log = LOG3(lambda e, status, category, text: self.messages.append((status, text.decode())))
            self._update = UPDATE3(update) if update else None
            if kind == "CoSimulation":
                self.pointer = self._create("InstantiateCoSimulation", b"one", token, None, C.c_bool(False), C.c_bool(True), C.c_bool(False),
                                            C.c_bool(early), None, Size(0), None, self._log, self._update)
            else:
                self.pointer = self._create("InstantiateModelExchange", b"one", token, None, C.c_bool(False), C.c_bool(True), None, self._log)
        else:
            self._log = LOG2(lambda e, name, status, category, form, text: self.messages.append((status, text.decode())))
            self._callbacks = Callbacks2(self._log)
            self.pointer = self._create("Instantiate", b"one", int(kind == "CoSimulation"), token, None, C.byref(self._callbacks), 0, 1)

    def _function(self, name):
        return getattr(self.fmu.library, f"fmi{self.version}{name}")

    def _create(self, name, *arguments):
        function = self._function(name)
        function.restype = Pointer
        return function(*arguments)

    def status(self, name, *arguments):
        """The status of a call."""
        return self._function(name)(Pointer(self.pointer), *arguments)

    def call(self, name, *arguments):
        status = self.status(name, *arguments)
        if status > 1:
            raise Failure(f"{name}: status {status}; {self.messages}")
        return status

    # ---- values ----

    def _references(self, names):
        return (C.c_uint32 * len(names))(*(self.fmu.description.by_name[name].reference for name in names))

    def get(self, *names):
        out = (Double * len(names))()
        extra = [Size(len(names))] if self.version == 3 else []
        self.call("GetFloat64" if self.version == 3 else "GetReal", self._references(names), Size(len(names)), out, *extra)
        return list(out)

    def set(self, **values):
        return self.set_all(values)

    def set_all(self, values):
        numbers = (Double * len(values))(*values.values())
        extra = [Size(len(values))] if self.version == 3 else []
        self.call("SetFloat64" if self.version == 3 else "SetReal", self._references(list(values)), Size(len(values)), numbers, *extra)

    def directional(self, unknowns, change):
        """How unknowns change with the given knowns."""
        out = (Double * len(unknowns))()
        seed = (Double * len(change))(*change.values())
        seeds, outs = ([Size(len(change))], [Size(len(unknowns))]) if self.version == 3 else ([], [])
        self.call("GetDirectionalDerivative", self._references(unknowns), Size(len(unknowns)), self._references(list(change)),
                  Size(len(change)), seed, *seeds, out, *outs)
        return list(out)

    # ---- the course of a simulation ----

    def initialise(self, start=0.0, **values):
        if values:
            self.set_all(values)
        if self.version == 3:
            self.call("EnterInitializationMode", C.c_bool(False), Double(0), Double(start), C.c_bool(False), Double(0))
        else:
            self.call("SetupExperiment", 0, Double(0), Double(start), 0, Double(0))
            self.call("EnterInitializationMode")
        self.call("ExitInitializationMode")
        if self.kind == "ModelExchange":
            self.update_states()

    def do_step(self, t, length):
        """The status, and the time at which the step ended."""
        if self.version == 2:
            return self.status("DoStep", Double(t), Double(length), 1), t + length
        event, terminate, early, last = C.c_bool(), C.c_bool(), C.c_bool(), Double()
        status = self.status("DoStep", Double(t), Double(length), C.c_bool(True), C.byref(event), C.byref(terminate), C.byref(early), C.byref(last))
        return status, last.value

    # ---- model exchange ----

    def update_states(self):
        """Event mode until nothing changes, then back; true when the states jumped."""
        jumped = False
        if self.version == 2:
            info = EventInfo2(needed=1)
            while info.needed:
                self.call("NewDiscreteStates", C.byref(info))
                jumped = jumped or bool(info.changed)
        else:
            flags, time = [C.c_bool(True) for _ in range(5)], Double()
            while flags[0].value:
                self.call("UpdateDiscreteStates", *map(C.byref, flags), C.byref(time))
                jumped = jumped or flags[3].value
        self.call("EnterContinuousTimeMode")
        return jumped

    def states(self):
        n = len(self.fmu.description.states)
        out = (Double * n)()
        self.call("GetContinuousStates", out, Size(n))
        return list(out)

    def slope(self, t, x):
        n = len(x)
        self.call("SetTime", Double(t))
        self.call("SetContinuousStates", (Double * n)(*x), Size(n))
        out = (Double * n)()
        self.call("GetContinuousStateDerivatives" if self.version == 3 else "GetDerivatives", out, Size(n))
        return list(out)

    def indicators(self, t, x):
        self.call("SetTime", Double(t))
        self.call("SetContinuousStates", (Double * len(x))(*x), Size(len(x)))
        out = (Double * max(1, self.fmu.description.indicators))()
        self.call("GetEventIndicators", out, Size(self.fmu.description.indicators))
        return list(out)[:self.fmu.description.indicators]

    def runge_kutta(self, t, x, h):
        def moved(by, slope):
            return [a + by * b for a, b in zip(x, slope)]
        k1 = self.slope(t, x)
        k2 = self.slope(t + h / 2, moved(h / 2, k1))
        k3 = self.slope(t + h / 2, moved(h / 2, k2))
        k4 = self.slope(t + h, moved(h, k3))
        return [a + h / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in zip(x, k1, k2, k3, k4)]

    def integrate(self, t, end, steps):
        """The Runge-Kutta method of order 4 with events located by bisection; the states at the end and the events' times."""
        x, h, events = self.states(), (end - t) / steps, []
        for i in range(steps):
            now, left, begin = t + i * h, h, x
            before = self.indicators(now, x)
            while True:
                x = self.runge_kutta(now, begin, left)
                signs = [a > 0 for a in before]
                if [a > 0 for a in self.indicators(now + left, x)] == signs:
                    break
                low, high = 0.0, left  # no crossing, a crossing
                while high - low > 1e-14 * max(1, abs(now)):
                    middle = (low + high) / 2
                    crossed = [a > 0 for a in self.indicators(now + middle, self.runge_kutta(now, begin, middle))] != signs
                    low, high = (low, middle) if crossed else (middle, high)
                x = self.runge_kutta(now, begin, high)
                self.indicators(now + high, x)
                events.append(now + high)
                self.call("EnterEventMode")
                self.update_states()
                now, left, begin = now + high, left - high, self.states()
                before = self.indicators(now, begin)
            wants, terminate = (C.c_bool(), C.c_bool()) if self.version == 3 else (C.c_int(), C.c_int())
            self.call("CompletedIntegratorStep", C.c_bool(True) if self.version == 3 else 1, C.byref(wants), C.byref(terminate))
            if wants.value:
                self.call("EnterEventMode")
                self.update_states()
            x = self.states()
        return x, events

    # ---- states ----

    def save(self):
        state = Pointer()
        self.call("GetFMUState" if self.version == 3 else "GetFMUstate", C.byref(state))
        return state

    def restore(self, state):
        self.call("SetFMUState" if self.version == 3 else "SetFMUstate", state)

    def forget(self, state):
        self.call("FreeFMUState" if self.version == 3 else "FreeFMUstate", C.byref(state))

    def pack(self, state):
        size = Size()
        self.call("SerializedFMUStateSize" if self.version == 3 else "SerializedFMUstateSize", state, C.byref(size))
        data = C.create_string_buffer(size.value)
        self.call("SerializeFMUState" if self.version == 3 else "SerializeFMUstate", state, data, size)
        return data.raw

    def unpack(self, data):
        state = Pointer()
        self.call("DeserializeFMUState" if self.version == 3 else "DeSerializeFMUstate", data, Size(len(data)), C.byref(state))
        return state

    def close(self, terminate=True):
        if terminate:
            self.call("Terminate")
        self._function("FreeInstance").restype = None
        self._function("FreeInstance")(Pointer(self.pointer))
