//! Files whose columns are known by name: IP2Location's DB1 to DB11.
//! Refuses data: only the names of columns are here.

/// Columns of a file that has no header, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Its name.
    pub name: &'static str,
    /// What follows the columns that all of them begin with.
    more: &'static str,
}

/// What every file begins with.
const FIRST: &str = "ip_from ip_to country_code country_name";

const fn level(name: &'static str, more: &'static str) -> Layout {
    Layout { name, more }
}

/// By level.
pub const LAYOUTS: [Layout; 11] = [
    level("ip2location-db1", ""),
    level("ip2location-db2", "isp"),
    level("ip2location-db3", "region_name city_name"),
    level("ip2location-db4", "region_name city_name isp"),
    level(
        "ip2location-db5",
        "region_name city_name latitude longitude",
    ),
    level(
        "ip2location-db6",
        "region_name city_name latitude longitude isp",
    ),
    level("ip2location-db7", "region_name city_name isp domain"),
    level(
        "ip2location-db8",
        "region_name city_name latitude longitude isp domain",
    ),
    level(
        "ip2location-db9",
        "region_name city_name latitude longitude zip_code",
    ),
    level(
        "ip2location-db10",
        "region_name city_name latitude longitude zip_code isp domain",
    ),
    level(
        "ip2location-db11",
        "region_name city_name latitude longitude zip_code time_zone",
    ),
];

impl Layout {
    /// The layout of this name.
    pub fn named(name: &str) -> Option<Self> {
        LAYOUTS.into_iter().find(|layout| layout.name == name)
    }

    /// Its columns, in the order of the file.
    pub fn columns(&self) -> Vec<String> {
        let words = FIRST.split_whitespace().chain(self.more.split_whitespace());
        words.map(str::to_owned).collect()
    }
}
