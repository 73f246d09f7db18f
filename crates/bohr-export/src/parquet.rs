//! Parquet, for DuckDB, pandas and their kin: one row for each event, in
//! groups of a million, compressed with zstd.

use crate::row::{Rows, Tables};
use crate::{ExportError, Row};
use bohr_trace::Trace;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::io::Write;
use std::sync::Arc;

/// Rows in a group.
const GROUP: usize = 1 << 20;

/// The columns, as [`Row`] has them.
const SCHEMA: &str = "message event {
    required int64 sequence (integer(64, false));
    required binary thread (string);
    required binary kind (string);
    required binary order (string);
    required int64 object (integer(64, false));
    required binary variable (string);
    required int32 size (integer(32, false));
    required binary place (string);
    optional int64 value (integer(64, false));
}";

pub(crate) fn write(trace: &Trace<'_>, out: &mut (dyn Write + Send)) -> Result<(), ExportError> {
    let tables = Tables::of(trace)?;
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(format!("bohr {}", env!("CARGO_PKG_VERSION")))
        .build();
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    let mut rows = Rows::new(trace, &tables)?;
    loop {
        let group: Vec<Row> = rows.by_ref().take(GROUP).collect::<Result<_, _>>()?;
        if group.is_empty() {
            break;
        }
        let mut columns = writer.next_row_group()?;
        write_group(&mut columns, &group)?;
        columns.close()?;
    }
    writer.close()?;
    Ok(())
}

/// Writes the columns of a group in the order of the schema.
fn write_group<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[Row],
) -> Result<(), ExportError> {
    numbers(group, rows, |row| row.sequence)?;
    texts(group, rows, |row| &row.thread)?;
    texts(group, rows, |row| &row.kind)?;
    texts(group, rows, |row| row.order)?;
    numbers(group, rows, |row| row.object)?;
    texts(group, rows, |row| &row.variable)?;
    sizes(group, rows)?;
    texts(group, rows, |row| &row.place)?;
    values(group, rows)
}

const HAS_COLUMN: &str = "the schema has nine columns, one for each call";

fn numbers<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[Row],
    number: impl Fn(&Row) -> u64,
) -> Result<(), ExportError> {
    // Unsigned numbers are stored as signed ones of the same bits.
    let numbers: Vec<i64> = rows.iter().map(|row| number(row) as i64).collect();
    let mut column = group.next_column()?.expect(HAS_COLUMN);
    column
        .typed::<Int64Type>()
        .write_batch(&numbers, None, None)?;
    Ok(column.close()?)
}

fn texts<'a, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &'a [Row],
    text: impl Fn(&'a Row) -> &'a str,
) -> Result<(), ExportError> {
    let texts: Vec<ByteArray> = rows.iter().map(|row| ByteArray::from(text(row))).collect();
    let mut column = group.next_column()?.expect(HAS_COLUMN);
    column
        .typed::<ByteArrayType>()
        .write_batch(&texts, None, None)?;
    Ok(column.close()?)
}

fn sizes<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[Row],
) -> Result<(), ExportError> {
    let sizes: Vec<i32> = rows.iter().map(|row| row.size as i32).collect();
    let mut column = group.next_column()?.expect(HAS_COLUMN);
    column
        .typed::<Int32Type>()
        .write_batch(&sizes, None, None)?;
    Ok(column.close()?)
}

fn values<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[Row],
) -> Result<(), ExportError> {
    let present: Vec<i64> = rows
        .iter()
        .filter_map(|row| row.value.map(|value| value as i64))
        .collect();
    // Level 1 is a value that is there, level 0 one that is not.
    let levels: Vec<i16> = rows
        .iter()
        .map(|row| i16::from(row.value.is_some()))
        .collect();
    let mut column = group.next_column()?.expect(HAS_COLUMN);
    column
        .typed::<Int64Type>()
        .write_batch(&present, Some(&levels), None)?;
    Ok(column.close()?)
}
