//! The JSON Schema of a file of experiments: that of [`Values`], with what the reader does to a file before. Each
//! experiment is there in two sizes, and what the tables that are compiled in state can be left out.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use toml::Table;

use super::{Experiment, Size, Values, values};

/// The schema of what `--experiments` takes.
///
/// # Errors
///
/// What is compiled in cannot be read.
pub(crate) fn schema_of_a_file() -> anyhow::Result<Schema> {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let mut root = settings.into_generator().into_root_schema_for::<Values>().to_value();
    let mut definitions = root["$defs"].take();
    for (family, table) in Experiment::tables() {
        if let Some(family) = referred(&root["properties"][family]) {
            in_two_sizes(&mut definitions[family]["properties"][table]);
        }
    }
    lay_over(&mut root, &values::built_in()?, &mut definitions);
    root["$defs"] = definitions;
    root["description"] = "The values of experiments: what a file leaves out is as it is compiled in.".into();
    Ok(Schema::try_from(root)?)
}

/// The name of the definition that a schema refers to.
fn referred(schema: &Value) -> Option<String> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/").map(str::to_owned)
}

/// What is said of one size is true of both.
fn in_two_sizes(of_one: &mut Value) {
    let description = of_one.as_object_mut().and_then(|of_one| of_one.remove("description"));
    let names = Size::ALL.map(Size::name);
    let sizes: Value = names.iter().map(|name| ((*name).to_owned(), of_one.clone())).collect();
    *of_one = json!({
        "description": description,
        "type": "object",
        "properties": sizes,
        "required": names,
        "additionalProperties": false,
    });
}

/// A file is laid over the tables that are compiled in: what these state need not be there, table by table.
fn lay_over(schema: &mut Value, stated: &Table, definitions: &mut Value) {
    if let Some(name) = referred(schema) {
        let mut definition = definitions[&name].take();
        lay_over(&mut definition, stated, definitions);
        definitions[name] = definition;
        return;
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| name.as_str().is_none_or(|name| !stated.contains_key(name)));
    }
    for (name, stated) in stated {
        let toml::Value::Table(stated) = stated else { continue };
        if schema["properties"].get(name).is_none() {
            // One of any names: another must be there in full.
            let of_any = &schema["additionalProperties"];
            let of_any = referred(of_any).map_or(of_any, |name| &definitions[name]);
            schema["properties"][name] = of_any.clone();
        }
        lay_over(&mut schema["properties"][name], stated, definitions);
    }
}

#[cfg(test)]
mod tests;
