//! `predict`: what the laws say of given values; nothing is measured.

use crate::cli::{Cli, Law, Predict as Arguments};
use crate::exit::Ending;
use crate::predict::{amdahl, given, little, pipeline, pool};

pub(super) fn run(cli: &Cli, arguments: &Arguments) -> anyhow::Result<Ending> {
    let file = arguments.values.as_deref();
    let prediction = match arguments.law.clone() {
        Law::Pipeline(flags) => pipeline::predict(*flags, given(file)?),
        Law::Little(flags) => little::predict(flags, given(file)?),
        Law::Amdahl(flags) => amdahl::predict(flags, given(file)?),
        Law::Pool(flags) => pool::predict(flags, given(file)?),
    }?;
    prediction.forms(|forms| forms.print(cli))?;
    Ok(Ending::Done)
}
