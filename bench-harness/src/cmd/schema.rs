//! `schema`: the JSON Schema of each file that the harness writes or reads, made from the very types that do so.

use cell_protocol::Description;
use clap::ValueEnum;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use super::aa;
use crate::benches::Benches;
use crate::cli::{Cli, Document};
use crate::compare::Comparison;
use crate::environment::Run;
use crate::exit::{Ending, usage};
use crate::experiment;
use crate::output::{self, Format, Forms};
use crate::row::Row;
use crate::summary::Entry;
use crate::table::Table;
use crate::threads::Seen;

/// One line of the list.
#[derive(Serialize)]
struct Listed {
    name: String,
    file: &'static str,
    what: String,
}

/// Prints a schema, or which there are.
///
/// # Errors
///
/// A usage error where a schema is asked for in a format that it does not have.
pub(super) fn run(cli: &Cli, name: Option<Document>) -> anyhow::Result<Ending> {
    let Some(document) = name else {
        let list = Forms {
            text: &|style| table().text(style),
            csv: &|| table().csv(),
            json: &|| serde_json::to_string_pretty(&list()),
        };
        list.print(cli)?;
        return Ok(Ending::Done);
    };
    if cli.format == Format::Csv {
        return Err(usage("a schema is JSON: leave --format out, or write --format json"));
    }
    output::print(&(serde_json::to_string_pretty(&schema(document)?)? + "\n"))?;
    Ok(Ending::Done)
}

fn list() -> Vec<Listed> {
    let listed = |document: &Document| {
        let value = document.to_possible_value()?;
        let what = value.get_help().map(ToString::to_string).unwrap_or_default();
        Some(Listed { name: value.get_name().to_owned(), file: file(*document), what })
    };
    Document::value_variants().iter().filter_map(listed).collect()
}

fn table() -> Table {
    let mut table = Table::new(&["name", "file", "what it is"]);
    for Listed { name, file, what } in list() {
        table.push(vec![name, file.to_owned(), what]);
    }
    table
}

fn file(document: Document) -> &'static str {
    match document {
        Document::Run => "run.json",
        Document::Row => "cells.jsonl",
        Document::Summary => "summary.json",
        Document::Benches => "benches.json",
        Document::Aa => "aa.json",
        Document::Comparison => "compare --format json",
        Document::Threads => "threads --format json",
        Document::Runner => "runtime-NAME describe",
        Document::Experiments => "--experiments FILE",
    }
}

fn schema(document: Document) -> anyhow::Result<Schema> {
    let mut schema = match document {
        Document::Run => of::<Run>(),
        Document::Row => of::<Row>(),
        Document::Summary => of::<Vec<Entry>>(),
        Document::Benches => of::<Benches>(),
        Document::Aa => of::<aa::Written<'static>>(),
        Document::Comparison => of::<Comparison>(),
        Document::Threads => of::<Seen>(),
        Document::Runner => of::<Description>(),
        Document::Experiments => experiment::schema_of_a_file()?,
    };
    schema.insert("title".to_owned(), file(document).into());
    let mut plain = RecursiveTransform(|schema: &mut Schema| {
        if let Some(serde_json::Value::String(text)) = schema.get_mut("description") {
            *text = without_links(text);
        }
    });
    plain.transform(&mut schema);
    Ok(schema)
}

/// The schema of what is written of a type: what is always written is required, also where a reader can do without.
fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// A description as it reads outside of rustdoc: ``[`name`](path)`` becomes `` `name` ``.
fn without_links(text: &str) -> String {
    let mut parts = text.split("[`");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some((name, rest)) = part.split_once("`]") else {
            plain.push_str("[`");
            plain.push_str(part);
            continue;
        };
        let after = rest.strip_prefix('(').and_then(|path| Some(path.split_once(')')?.1));
        plain.extend(["`", name, "`", after.unwrap_or(rest)]);
    }
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn links_of_rustdoc_are_names_elsewhere() {
        assert_eq!(without_links("The version, [`PROTOCOL`](crate::PROTOCOL)."), "The version, `PROTOCOL`.");
        assert_eq!(without_links("As [`Primitive::id`] has it."), "As `Primitive::id` has it.");
        assert_eq!(without_links("a list [`a, b] and (c)"), "a list [`a, b] and (c)");
    }

    /// Where a field has no word on what it is.
    fn undescribed(at: &str, schema: &Value, found: &mut Vec<String>) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let is_told = property["description"].as_str().is_some_and(|text| !text.is_empty());
            if !is_told && property.get("$ref").is_none() {
                found.push(format!("{at}.{name}"));
            }
        }
        for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
            undescribed(name, definition, found);
        }
    }

    #[test]
    fn every_field_is_described() {
        for document in Document::value_variants() {
            let mut found = Vec::new();
            undescribed(file(*document), schema(*document).unwrap().as_value(), &mut found);
            assert!(found.is_empty(), "{found:#?}");
        }
    }
}
