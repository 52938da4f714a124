"""Who is asking, and what they may see: functions of tokens, keys and claims."""
