//! Renderings for hosts, held against committed files.
