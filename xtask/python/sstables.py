"""Rows of every CQL type for `cargo xtask prove sstables`: written as a file, read back by a driver, and two dumps compared.

    sstables.py schema KEYSPACE VECTORS             user types and columns of the table; VECTORS is 1 or 0
    sstables.py make FILE ROWS VECTORS              a CSV file
    sstables.py check HOST PORT TABLE ROWS VECTORS  all rows of a table against the same rows
    sstables.py wide HOST PORT TABLE ROWS WIDTH     one partition, whole and by slices
    sstables.py dump FILE FILE                      what two outputs of sstabledump -t differ in

Nothing here uses Helenus: values are made, written and compared by Python alone. Each command prints one line of JSON.
"""

import datetime
import ipaddress
import json
import random
import struct
import sys
import uuid
from decimal import Decimal

# Microseconds since 1970, before any load.
START_US = 1_700_000_000_000_000
EPOCH = datetime.datetime(1970, 1, 1)

# Name, type. Types are a word or a tuple of a kind and its types; `inner` and `outer` are the schema's user types.
INNER = (("a", "int"), ("b", ("list", "text")), ("c", ("map", "text", "int")))
OUTER = (
    ("x", ("udt", INNER)),
    ("y", ("tuple", "int", "text", ("set", "uuid"))),
    ("z", "decimal"),
)
KEY = (
    ("pk1", "text"),
    ("pk2", "int"),
    ("c1", "timestamp"),
    ("c2", "text"),
    ("c3", "varint"),
)
STATICS = (("s1", "text"), ("s2", ("map", "text", "int")), ("s3", ("udt", INNER)))
PLAIN = "ascii bigint blob boolean date decimal double duration float inet int smallint text time timestamp timeuuid tinyint uuid varint"
REGULARS = (
    *((f"r_{ty}", ty) for ty in PLAIN.split()),
    ("l", ("list", "int")),
    ("lud", ("list", ("udt", INNER))),
    ("s", ("set", "text")),
    ("m", ("map", "text", ("list", "int"))),
    ("fl", ("list", "double")),
    ("fs", ("set", "inet")),
    ("fm", ("map", "int", "text")),
    ("nest", ("map", "int", ("map", "text", ("set", "decimal")))),
    ("tup", ("tuple", "int", "text", ("list", "bigint"))),
    ("ud", ("udt", INNER)),
    ("fud", ("udt", OUTER)),
)
VECTORS = (("vf", ("vector", "float", 3)), ("vt", ("vector", "text", 2)))
# Collections whose cells lie alone: an empty one is null, and the paths of a list's cells are the server's choice.
OPEN = ("s2", "l", "lud", "s", "m", "nest", "ud")
LISTS = ("l", "lud")


class Duration:
    """Months, days and nanoseconds, of one sign."""

    def __init__(self, parts):
        self.parts = parts


def columns(vectors):
    return REGULARS + (VECTORS if vectors else ())


def value(dice, ty):
    """A value of the type, at its edges now and then."""
    edge = dice.random() < 0.1
    if isinstance(ty, tuple):
        kind, *of = ty
        count = 0 if edge else dice.randint(1, 4)
        if kind == "list":
            return [value(dice, of[0]) for _ in range(count)]
        if kind == "vector":
            return [value(dice, of[0]) for _ in range(of[1])]
        if kind == "set":
            return unique(value(dice, of[0]) for _ in range(count))
        if kind == "map":
            keys = unique(value(dice, of[0]) for _ in range(count))
            return Pairs((key, value(dice, of[1])) for key in keys)
        parts = of if kind == "tuple" else [ty for _, ty in of[0]]
        parts = [None if dice.random() < 0.15 else value(dice, part) for part in parts]
        # All null would be null itself where a user type is not frozen.
        parts[0] = value(dice, of[0] if kind == "tuple" else of[0][0][1])
        return tuple(parts)
    bits = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}.get(ty)
    if bits:
        top = 1 << (bits - 1)
        return dice.choice((-top, top - 1, 0)) if edge else dice.randrange(-top, top)
    if ty == "varint":
        return dice.choice((0, -1, 127, 128, -128, -129)) if edge else dice.randrange(-(1 << 200), 1 << 200)
    if ty == "decimal":
        if edge:
            return dice.choice((Decimal("0.00"), Decimal("-0.1"), Decimal("1E+10"), Decimal("1E-30")))
        return Decimal(dice.randrange(-(10**25), 10**25)).scaleb(-dice.randint(0, 20))
    if ty == "double":
        return dice.choice((0.0, -0.0, float("inf"), float("nan"), 5e-324)) if edge else dice.uniform(-1e9, 1e9)
    if ty == "float":
        number = dice.choice((0.0, -0.0, float("-inf"), float("nan"))) if edge else dice.uniform(-1e6, 1e6)
        return struct.unpack(">f", struct.pack(">f", number))[0]
    if ty == "ascii":
        return "" if edge else "".join(dice.choices("abc ,;\"'\\\t{}[]:", k=dice.randint(1, 12)))
    if ty == "text":
        return "" if edge else "".join(dice.choices("aé日😀\n\r\"', {}[]:\\", k=dice.randint(1, 12)))
    if ty == "blob":
        return b"" if edge else dice.randbytes(dice.randint(1, 40))
    if ty == "boolean":
        return dice.random() < 0.5
    if ty == "date":
        return datetime.date.fromordinal(dice.randint(1, 3_652_059))
    if ty == "time":
        return 0 if edge else dice.randrange(86_400 * 10**9)
    if ty == "timestamp":
        return 0 if edge else dice.randrange(-(10**12), 4 * 10**12)
    if ty == "timeuuid":
        return uuid.UUID(fields=(dice.getrandbits(32), dice.getrandbits(16), 0x1000 | dice.getrandbits(12), 0x80, dice.getrandbits(8), dice.getrandbits(48)))
    if ty == "uuid":
        return uuid.UUID(int=dice.getrandbits(128), version=4)
    if ty == "inet":
        return ipaddress.ip_address(dice.randbytes(dice.choice((4, 16))))
    if ty == "duration":
        sign = dice.choice((1, -1))
        return Duration((sign * dice.randrange(1000), sign * dice.randrange(1000), sign * dice.randrange(10**15)))
    raise ValueError(ty)


class Pairs(list):
    """A map, with keys that Python cannot hash."""


def unique(values):
    kept = []
    for one in values:
        if all(same(one) != same(other) for other in kept):
            kept.append(one)
    return kept


def literal(one, ty, inside=False):
    """A value as a file has it; within a collection as CQL has it."""
    if one is None:
        return "null"
    if isinstance(ty, tuple):
        kind, *of = ty
        if kind in ("list", "vector"):
            return "[" + ", ".join(literal(o, of[0], True) for o in one) + "]"
        if kind == "set":
            return "{" + ", ".join(literal(o, of[0], True) for o in one) + "}"
        if kind == "map":
            return "{" + ", ".join(f"{literal(k, of[0], True)}: {literal(v, of[1], True)}" for k, v in one) + "}"
        if kind == "tuple":
            return "(" + ", ".join(literal(o, t, True) for o, t in zip(one, of)) + ")"
        return "{" + ", ".join(f"{name}: {literal(o, t, True)}" for o, (name, t) in zip(one, of[0])) + "}"
    if ty in ("float", "double"):
        names = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
        return names.get(repr(one), repr(one))
    if ty == "blob":
        return "0x" + one.hex()
    if ty == "boolean":
        return str(one).lower()
    if ty == "duration":
        months, days, nanos = (abs(part) for part in one.parts)
        return ("-" if min(one.parts) < 0 else "") + f"{months}mo{days}d{nanos}ns"
    if ty == "time":
        text = f"{one // 3_600_000_000_000:02}:{one // 60_000_000_000 % 60:02}:{one // 10**9 % 60:02}.{one % 10**9:09}"
    elif ty == "date":
        text = f"{one.year:04}-{one.month:02}-{one.day:02}"
    else:
        text = str(one)
    quoted = inside and ty in ("ascii", "text", "inet", "time", "date")
    return "'" + text.replace("'", "''") + "'" if quoted else text


def rows(number, vectors):
    """Rows in the order of the file: their place in time, and a value for each column of key, statics and regulars."""
    dice = random.Random(20)
    times = list(range(number))
    dice.shuffle(times)
    keys = []
    for at in times:
        if keys and dice.random() < 0.02:
            key = dice.choice(keys)
        else:
            key = (f"p{dice.randrange(max(number // 40, 1))}", dice.randrange(3), *(value(dice, ty) for _, ty in KEY[2:]))
            keys.append(key)
        statics = [None if dice.random() < 0.7 else value(dice, ty) for _, ty in STATICS]
        own = [None if dice.random() < 0.2 else value(dice, ty) for _, ty in columns(vectors)]
        yield START_US + 10 * at, key, statics, own


def make(path, number, vectors):
    named = KEY + STATICS + columns(vectors)
    texts = 0
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(",".join(name for name, _ in named) + ",at\n")
        for at, key, statics, own in rows(number, vectors):
            fields = []
            for one, (_, ty) in zip((*key, *statics, *own), named):
                # Nothing is null, and "" an empty text.
                fields.append("" if one is None else '"' + literal(one, ty).replace('"', '""') + '"')
                texts += one is not None
            file.write(",".join(fields) + f",{at}\n")
    return {"rows": number, "values": texts, "columns": len(named)}


def merged(number, vectors):
    """What a table must hold: of each column of a row the latest value."""
    table, statics = {}, {}
    for at, key, shared, own in rows(number, vectors):
        for into, values, names in (
            (statics.setdefault(key[:2], {}), shared, STATICS),
            (table.setdefault(tuple(map(same, key)), {}), own, columns(vectors)),
        ):
            for one, (name, _) in zip(values, names):
                if one is not None and at >= into.get(name, (0,))[0]:
                    into[name] = (at, one)
    return table, statics


def same(one, ty=None):
    """A value so that equal ones are equal, whether Python or the driver made it."""
    if one is None:
        return None
    if isinstance(ty, tuple):
        kind, *of = ty
        if kind == "set":
            return sorted((same(o, of[0]) for o in one), key=repr)
        if kind == "map":
            pairs = one if isinstance(one, Pairs) else one.items()
            return sorted(([same(k, of[0]), same(v, of[1])] for k, v in pairs), key=repr)
        if kind in ("list", "vector"):
            return [same(o, of[0]) for o in one]
        parts = of if kind == "tuple" else [ty for _, ty in of[0]]
        return [same(o, t) for o, t in zip(one, parts)]
    if isinstance(one, Pairs):
        return sorted(([same(k), same(v)] for k, v in one), key=repr)
    if isinstance(one, (list, tuple)):
        return [same(o) for o in one]
    if isinstance(one, float):
        return repr(one)
    if isinstance(one, Decimal):
        return repr(one.as_tuple())
    if isinstance(one, datetime.datetime):
        return (one - EPOCH) // datetime.timedelta(milliseconds=1)
    if isinstance(one, datetime.date):
        return one.toordinal() - EPOCH.toordinal()
    if isinstance(one, Duration):
        return list(one.parts)
    kind = type(one).__name__
    if kind == "Duration":
        return [one.months, one.days, one.nanoseconds]
    if kind == "Date":
        return one.days_from_epoch
    if kind == "Time":
        return one.nanosecond_time
    if ty == "inet" and isinstance(one, str):
        return repr(ipaddress.ip_address(one))
    if kind.startswith("IPv"):
        return repr(one)
    return one


def session(host, port):
    from cassandra.cluster import Cluster, ExecutionProfile, EXEC_PROFILE_DEFAULT
    from cassandra.policies import WhiteListRoundRobinPolicy

    profile = ExecutionProfile(load_balancing_policy=WhiteListRoundRobinPolicy([host]), request_timeout=60)
    cluster = Cluster([host], port=int(port), execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    return cluster.connect()


def check(host, port, table, number, vectors):
    expected, statics = merged(number, vectors)
    asked = session(host, port)
    asked.default_fetch_size = 500
    read = values = 0
    wrong = []
    for row in asked.execute(f"SELECT * FROM {table}"):
        read += 1
        key = tuple(same(getattr(row, name), ty) for name, ty in KEY)
        own = expected.pop(key, None)
        if own is None:
            wrong.append(f"no such row: {key}")
            continue
        for names, known in ((STATICS, statics[(row.pk1, row.pk2)]), (columns(vectors), own)):
            for name, ty in names:
                values += 1
                wanted = known.get(name, (0, None))[1]
                if name in OPEN and isinstance(wanted, list) and not wanted:
                    wanted = None
                found = getattr(row, name)
                if same(found, ty) != same(wanted, ty):
                    wrong.append(f"{name} of {key}: {found!r} instead of {wanted!r}")
    wrong.extend(f"missing: {key}" for key in expected)
    return {"rows": read, "values": values, "wrong": len(wrong), "first": wrong[:3]}


def wide(host, port, table, number, width):
    """All rows of the partition `k = 1`, whose rows are n from 1 on in descending order and v = `n-ppp…`."""
    asked = session(host, port)
    asked.default_fetch_size = 2_000
    wrong, next_one = 0, number
    for n, v in asked.execute(f"SELECT n, v FROM {table} WHERE k = 1"):
        wrong += n != next_one or v != f"{n}-" + "p" * width
        next_one -= 1
    dice = random.Random(4)
    slices = 0
    for order in ("ASC", "DESC") * 100:
        at = dice.randrange(1, number - 10)
        found = asked.execute(f"SELECT n FROM {table} WHERE k = 1 AND n >= {at} AND n < {at + 10} ORDER BY n {order}")
        wanted = list(range(at, at + 10))
        wrong += [row.n for row in found] != (wanted if order == "ASC" else wanted[::-1])
        slices += 1
    return {"rows": number - next_one, "slices": slices, "wrong": wrong}


# Members of a dump that say when, and not what: they may be this many seconds apart.
CLOCKS = ("local_delete_time", "expires_at")
APART_S = 600
# Members that depend on the lengths of others.
PLACES = ("position", "expired")


def walk(one, other, name, found):
    """What two dumps differ in."""
    if isinstance(one, dict) and isinstance(other, dict):
        if one.get("name") in LISTS and "path" in one and "path" in other:
            one, other = dict(one, path=0), dict(other, path=0)
        for key in sorted(one.keys() | other.keys()):
            if key in PLACES:
                continue
            if key in CLOCKS and key in one and key in other:
                found["clocks"] += 1
                found["apart_s"] = max(found["apart_s"], abs(int(one[key]) - int(other[key])))
                continue
            walk(one.get(key), other.get(key), f"{name}.{key}", found)
        deleted = "deletion_info" in one
        found["collections_replaced"] += deleted and "name" in one and "marked_deleted" in one["deletion_info"]
        found["tombstones"] += deleted and not ("name" in one and "marked_deleted" in one["deletion_info"])
        found["cells"] += "name" in one and not deleted
        found["rows"] += one.get("type") == "row"
        found["statics"] += one.get("type") == "static_block"
        found["expiring"] += "ttl" in one
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, (a, b) in enumerate(zip(one, other)):
            walk(a, b, f"{name}[{at}]", found)
    elif one != other:
        found["differ"] += 1
        if len(found["first"]) < 3:
            found["first"].append(f"{name}: {json.dumps(one)[:200]} and {json.dumps(other)[:200]}")


def dump(one, other):
    counts = ("rows", "statics", "cells", "expiring", "collections_replaced", "tombstones", "clocks", "apart_s", "differ")
    found = dict.fromkeys(counts, 0)
    found["first"] = []
    loaded = []
    for path in (one, other):
        with open(path, encoding="utf-8") as file:
            loaded.append(json.load(file))
    walk(*loaded, "", found)
    found["equal"] = found["differ"] == 0 and found["apart_s"] <= APART_S
    return found


def named(ty):
    """A type as CQL has it."""
    if isinstance(ty, str):
        return ty
    kind, *of = ty
    if kind == "udt":
        return "inner" if of[0] == INNER else "outer"
    if kind == "vector":
        return f"vector<{named(of[0])}, {of[1]}>"
    return f"{kind}<{', '.join(frozen(part) for part in of)}>"


def frozen(ty):
    return named(ty) if isinstance(ty, str) or ty[0] == "vector" else f"frozen<{named(ty)}>"


def schema(keyspace, vectors):
    types = [
        f"CREATE TYPE {keyspace}.{name} ({', '.join(f'{field} {frozen(ty)}' for field, ty in fields)})"
        for name, fields in (("inner", INNER), ("outer", OUTER))
    ]
    columns_of = [
        f"{name} {named(ty) if name in OPEN else frozen(ty)}{word}"
        for names, word in ((KEY, ""), (STATICS, " static"), (columns(vectors), ""))
        for name, ty in names
    ]
    return {"types": types, "columns": ", ".join(columns_of)}


def main(verb, *words):
    if verb == "schema":
        return schema(words[0], words[1] == "1")
    if verb == "make":
        return make(words[0], int(words[1]), words[2] == "1")
    if verb == "check":
        return check(*words[:3], int(words[3]), words[4] == "1")
    if verb == "wide":
        return wide(*words[:3], int(words[3]), int(words[4]))
    return dump(*words)


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
