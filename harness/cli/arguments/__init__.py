"""What each command takes, a module per command. They import the model and the study, and nothing that takes long."""
