"""Reads Parquet files with pyarrow and DuckDB. Prints for each, as a line of JSON, names and types of the columns, and the rows."""
import json
import sys

import duckdb
import pyarrow
import pyarrow.parquet


def by_pyarrow(path):
    table = pyarrow.parquet.read_table(path)
    types = [str(each) for each in table.schema.types]
    times = [index for index, each in enumerate(types) if each.startswith("timestamp")]
    columns = [column.cast(pyarrow.int64()) if index in times else column for index, column in enumerate(table.columns)]
    rows = [list(row) for row in zip(*(column.to_pylist() for column in columns))]
    return {"names": table.schema.names, "types": types, "rows": rows}


connection = duckdb.connect()
connection.execute("set timezone = 'UTC'")


def by_duckdb(path):
    names = [row[:2] for row in connection.execute("describe select * from read_parquet(?)", [path]).fetchall()]
    wanted = ", ".join(f'epoch_us("{name}")' if "TIMESTAMP" in kind else f'"{name}"' for name, kind in names)
    rows = connection.execute(f"select {wanted} from read_parquet(?)", [path]).fetchall()
    return {"names": [name for name, _ in names], "types": [kind for _, kind in names], "rows": [list(row) for row in rows]}


for path in sys.argv[1:]:
    print(json.dumps({"pyarrow": by_pyarrow(path), "duckdb": by_duckdb(path)}))
