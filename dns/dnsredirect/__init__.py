"""DNS of the testbed: every name resolves to the test server. Named dnsredirect so that it never shadows `dns`."""
