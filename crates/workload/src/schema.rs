//! The JSON Schema of a plan, which is a text.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::plan::{Plan, ROUNDS_MAX, STEPS_MAX, WAIT_MAX};

impl JsonSchema for Plan {
    fn schema_name() -> Cow<'static, str> {
        "Plan".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let step = r"((wait|block)=[0-9]+(ns|us|ms|s)|compute=\+?[0-9]+|panic)";
        json_schema!({
            "type": "string",
            "pattern": format!("^({step}(,{step}){{0,{}}})?$", STEPS_MAX - 1),
            "description": format!(
                "Steps such as wait=20ms,compute=12000,block=10ms, in order; none at all is an empty plan. Waits and blocks last \
                 {}s together at most, and compute steps have {ROUNDS_MAX} rounds.",
                WAIT_MAX.as_secs()
            ),
        })
    }
}
