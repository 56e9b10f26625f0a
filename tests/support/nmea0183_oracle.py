"""Parses sentences from standard input with pynmea2 and pyais; one JSON object a line of output."""
import json
import sys

import pyais
import pynmea2


class MTA(pynmea2.TalkerSentence):
    """Air temperature, which pynmea2 lacks."""

    fields = (("Temperature", "temperature"), ("Unit", "units"))


class MMB(pynmea2.TalkerSentence):
    """Barometer, which pynmea2 lacks."""

    fields = (("Inches", "inches"), ("I", "i"), ("Bar", "bar"), ("B", "b"))


def plain(value):
    return value if value is None or isinstance(value, (int, float, bool)) else str(value)


parts = {}
for line in sys.stdin:
    line = line.rstrip("\r\n")
    if line.startswith("\\"):
        _, tag, line = line.split("\\")
        assert "%02X" % pynmea2.NMEASentence.checksum(tag[:-3]) == tag[-2:], tag
    if line.startswith("!"):
        fields = line.split(",")
        group = parts.setdefault(fields[3], [])
        group.append(line)
        if len(group) < int(fields[1]):
            continue
        message = pyais.decode(*parts.pop(fields[3]))
        values = {key: plain(value) for key, value in message.asdict(enum_as_int=True).items()}
        print(json.dumps({"talker": fields[0][1:3], "type": fields[0][3:], "values": values}))
        continue
    message = pynmea2.parse(line, check=True)
    values = {name: value for (_, name, *_), value in zip(message.fields, message.data)}
    for name in ("latitude", "longitude"):
        if values.get("lat") and hasattr(message, name):
            values[name] = getattr(message, name)
    values["data"] = message.data
    print(json.dumps({"talker": message.talker, "type": message.sentence_type, "values": values}))
