not here
