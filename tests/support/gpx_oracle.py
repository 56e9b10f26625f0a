"""Reads GPX from standard input with gpxpy; one JSON object: the names of the tracks, and their segments of points."""
import json
import sys

import gpxpy

gpx = gpxpy.parse(sys.stdin, version="1.1")
tracks = [
    {
        "name": track.name,
        "segments": [
            [[point.latitude, point.longitude, round(point.time.timestamp() * 1000)] for point in segment.points]
            for segment in track.segments
        ],
    }
    for track in gpx.tracks
]
print(json.dumps({"creator": gpx.creator, "tracks": tracks}))
