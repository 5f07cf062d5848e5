"""Names and numbers as a reader meets them: of protocols, engines, metrics, conditions."""
