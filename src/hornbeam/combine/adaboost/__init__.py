"""AdaBoost: members fitted one after the other, each on what the earlier ones got wrong."""
