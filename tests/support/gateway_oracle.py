"""Reads our gateway server with the TCP clients of the package nmea2000: HOST PORT FORMAT. Prints what they get."""
import asyncio
import sys

from nmea2000 import decoder
from nmea2000.input_formats import N2KFormat
from nmea2000.ioclient import ActisenseBstNmea2000Gateway, TextNmea2000Gateway

FORMATS = {
    "ydraw": N2KFormat.CAN_FRAME_ASCII,
    "n2kascii": N2KFormat.N2K_ASCII,
    "candump": N2KFormat.CANDUMP3,
}


def note(self, pgn, priority, src, dest, timestamp, data, *rest):
    """In place of the decoding of fields: the data is in reverse order here."""
    print(pgn, src, dest, priority, bytes(data)[::-1].hex(), flush=False)


async def main():
    host, port, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    decoder.DecoderBase._decode = note
    if name == "bst":
        client = ActisenseBstNmea2000Gateway(host, port)
    else:
        client = TextNmea2000Gateway(host, port, FORMATS[name])
    await client.connect()
    while True:
        await asyncio.sleep(0.05)
        sys.stdout.flush()


asyncio.run(main())
