//! The nearest right name to a wrong one.

/// `; did you mean "tokio"?` where a candidate is near, and the list of candidates otherwise.
pub(crate) fn hint<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let similarity = |name: &str| strsim::jaro_winkler(wrong, name);
    let nearest = candidates.iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
    match nearest {
        Some(name) if similarity(name) >= 0.75 => format!("did you mean {name:?}?"),
        Some(_) => format!("there are {}", candidates.join(", ")),
        None => "there are none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        assert_eq!(hint("tokoi", ["threads", "tokio"]), "did you mean \"tokio\"?");
        assert_eq!(hint("xyz", ["threads", "tokio"]), "there are threads, tokio");
        assert_eq!(hint("xyz", []), "there are none");
    }
}
