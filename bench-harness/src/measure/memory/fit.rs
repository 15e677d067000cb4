//! From looks to figures: a line through what was there, whose slope is what one more costs. Pure.

use serde_json::{Map, Value, json};
use statistics::{Interval, Level, Line, Point, StatisticsError};

use super::look::Look;
use crate::row::Measured;

/// What the interval of a slope covers.
const COVERAGE: Level = Level::P95;
/// Of an object of the kernel, a unit has one at least, or shares one with three others; what grows slower with the
/// units is other people's.
const OBJECTS_PER_UNIT_MIN: f64 = 0.25;
/// And the interval of how many it has is no wider than this share of it, to either side: other people's do not grow
/// in step with the units.
const OBJECTS_ERROR_MAX: f64 = 0.2;

/// One figure as a function of the units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    pub(super) line: Line,
    pub(super) interval: Option<Interval>,
    /// How far the look that is furthest from the line is from it.
    pub(super) residual_max: f64,
}

/// Objects of the kernel, as many a unit.
#[derive(Clone, Debug)]
pub(super) struct Objects {
    name: String,
    per_unit: f64,
    bytes_each: u64,
}

/// Everything that is fitted to the looks of one cell.
#[derive(Clone, Debug)]
pub(super) struct Fits {
    pub(super) pss: Fit,
    pub(super) total: Fit,
    private: Fit,
    page_tables: Fit,
    kernel_stacks: Fit,
    reserved: Fit,
    /// None where the kernel does not tell.
    slab: Option<(Fit, Vec<Objects>)>,
}

impl Fit {
    fn of(looks: &[Look], figure: impl Fn(&Look) -> u64) -> Result<Fit, StatisticsError> {
        let point = |look: &Look| Point { x: as_f64(look.units), y: as_f64(figure(look)) };
        let points: Vec<Point> = looks.iter().map(point).collect();
        let line = Line::fit(&points)?;
        let residual = |point: &Point| (point.y - line.slope().mul_add(point.x, line.intercept())).abs();
        let residual_max = points.iter().map(residual).fold(0.0, f64::max);
        Ok(Fit { line, interval: line.slope_interval(COVERAGE)?, residual_max })
    }

    fn evidence(&self) -> Value {
        json!({
            "slope": rounded(self.line.slope()),
            "low": self.interval.map(|interval| rounded(interval.low())),
            "high": self.interval.map(|interval| rounded(interval.high())),
            "coverage": self.interval.map(Interval::coverage),
            "intercept": rounded(self.line.intercept()),
            "residual_max": rounded(self.residual_max),
        })
    }
}

impl Fits {
    /// Fits a line to each figure.
    ///
    /// # Errors
    ///
    /// The looks are too few, or all at the same number of units.
    pub(super) fn of(looks: &[Look]) -> Result<Fits, StatisticsError> {
        Ok(Fits {
            pss: Fit::of(looks, |look| look.tree.pss_bytes)?,
            total: Fit::of(looks, |look| look.tree.total_bytes())?,
            private: Fit::of(looks, |look| look.tree.private_bytes)?,
            page_tables: Fit::of(looks, |look| look.tree.page_table_bytes)?,
            kernel_stacks: Fit::of(looks, |look| look.tree.kernel_stack_bytes())?,
            reserved: Fit::of(looks, |look| look.tree.reserved_bytes)?,
            slab: slab(looks)?,
        })
    }

    /// Puts figures and evidence into a row.
    pub(super) fn record(&self, looks: &[Look], measured: &mut Measured) {
        let slab = self.slab.as_ref().map(|(fit, _)| fit);
        let all = [
            ("pss_bytes_per_unit", Some(&self.pss)),
            ("private_bytes_per_unit", Some(&self.private)),
            ("page_table_bytes_per_unit", Some(&self.page_tables)),
            ("kernel_stack_bytes_per_unit", Some(&self.kernel_stacks)),
            ("slab_bytes_per_unit", slab),
            ("reserved_bytes_per_unit", Some(&self.reserved)),
            ("total_bytes_per_unit", Some(&self.total)),
        ];
        let mut fits = Map::new();
        for (name, fit) in all {
            let Some(fit) = fit else { continue };
            measured.metric(name, rounded(fit.line.slope()));
            fits.insert(name.to_owned(), fit.evidence());
        }
        measured.metric("pss_bytes_intercept", rounded(self.pss.line.intercept()));
        measured.note("fit", fits);
        let objects = self.slab.as_ref().map_or(&[][..], |(_, objects)| objects);
        let kinds = match &self.slab {
            Some(_) => objects.iter().map(Objects::evidence).collect(),
            None => Value::from("not available: /proc/slabinfo cannot be read"),
        };
        measured.note("slab_objects", kinds);
        let slab_bytes = |look: &Look| self.slab.as_ref().map(|_| slab_bytes(look, objects));
        let looks: Vec<Value> = looks.iter().map(|look| look.evidence(slab_bytes(look))).collect();
        measured.note("looks", looks);
    }
}

impl Objects {
    fn evidence(&self) -> Value {
        json!({ "name": self.name, "per_unit": rounded(self.per_unit), "bytes_each": self.bytes_each })
    }
}

/// The objects that grow in step with the units, and their bytes as one figure. None where a look saw none.
fn slab(looks: &[Look]) -> Result<Option<(Fit, Vec<Objects>)>, StatisticsError> {
    let Some(first) = looks.first().and_then(|look| look.slab.as_ref()) else { return Ok(None) };
    if looks.iter().any(|look| look.slab.is_none()) {
        return Ok(None);
    }
    let mut objects = Vec::new();
    for (name, cache) in first {
        let fit = Fit::of(looks, |look| objects_of(look, name))?;
        let per_unit = fit.line.slope();
        let error = fit.interval.map_or(f64::INFINITY, |interval| interval.high() - per_unit);
        if per_unit >= OBJECTS_PER_UNIT_MIN && error <= OBJECTS_ERROR_MAX * per_unit {
            objects.push(Objects { name: name.clone(), per_unit, bytes_each: cache.object_bytes });
        }
    }
    let fit = Fit::of(looks, |look| slab_bytes(look, &objects))?;
    Ok(Some((fit, objects)))
}

fn slab_bytes(look: &Look, objects: &[Objects]) -> u64 {
    objects.iter().map(|objects| objects_of(look, &objects.name) * objects.bytes_each).sum()
}

fn objects_of(look: &Look, name: &str) -> u64 {
    look.slab.as_ref().and_then(|slab| slab.get(name)).map_or(0, |cache| cache.objects)
}

/// To a thousandth of a byte: the rest is what the arithmetic leaves, also of a line that is flat.
fn rounded(figure: f64) -> f64 {
    // Adding zero makes a negative zero a plain one.
    (figure * 1_000.0).round() / 1_000.0 + 0.0
}

#[expect(clippy::cast_precision_loss, reason = "a process has far fewer than 2^53 bytes")]
fn as_f64(figure: u64) -> f64 {
    figure as f64
}

#[cfg(test)]
mod tests;
