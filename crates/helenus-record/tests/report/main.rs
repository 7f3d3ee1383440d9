//! Reports as a reader gets them: their structure, their escaping, and how they behave in a browser.
//! Refuses a network: the pages are opened from files, with every other address refused.

mod browser;
mod experiment;
mod levels;
mod made;
mod site;
mod structure;
mod values;
