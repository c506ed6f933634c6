"""What a session leaves: recordings, profiles and the rows they answer with."""
