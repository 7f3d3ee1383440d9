//! The connections once statements are known; and one statement whose rows are encoded already, filled by slot.
//! Refuses to know what the rows are.

use super::Wire;
use super::dialer;
use super::opening::Opening;
use super::statement::Statement;
use super::traffic::{Package, Traffic};
use crate::endpoint::EndpointError;
use helenus_model::cql::CqlType;

impl Wire {
    /// Prepares one statement, whose rows come as [`Self::package`]s; its markers with their types.
    ///
    /// # Errors
    /// What the server refuses.
    pub(crate) fn prepare_rows(
        &mut self,
        cql: &str,
    ) -> Result<Vec<(String, CqlType)>, EndpointError> {
        let Some(mut opening) = self.opening.take() else {
            return Ok(Vec::new());
        };
        let statement = Statement::prepare(&mut opening.control.0, "load", cql)?;
        let names = statement.markers.iter().cloned();
        let markers = names.zip(statement.types.iter().cloned()).collect();
        self.statements = vec![statement];
        self.traffic = Traffic::Rows(Vec::new());
        self.go(opening);
        Ok(markers)
    }

    /// The rows that a slot sends, for whoever fills it.
    pub(crate) fn package(&mut self, slot: usize) -> Option<&mut Package> {
        match &mut self.traffic {
            Traffic::Rows(packages) => {
                if packages.len() <= slot {
                    packages.resize_with(slot + 1, Package::default);
                }
                packages.get_mut(slot)
            }
            _ => None,
        }
    }

    /// Opens what is still closed, now that the statements are known.
    pub(super) fn go(&mut self, opening: Opening) {
        let (control, address) = opening.control;
        let all = self.statements.iter().map(|s| s.cql.clone()).collect();
        *self.access.statements() = all;
        self.meet(&opening.map);
        for (node, opened) in dialer::prepare_on_all(&self.access, opening.clients) {
            self.take_over(node, opened);
        }
        self.dial_missing();
        if opening.watched {
            let watching = (control, address);
            dialer::watch(&self.access, watching, opening.map, &self.news.0);
        }
    }
}
