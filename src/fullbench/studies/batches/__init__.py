"""Studies by the file: a provider's batch service, or vLLM's offline mode, in place of live calls.

A pass over the study is the same as ever: judges write prompts, read replies and rule. Only the models are others:
they know the replies that came back in files, and where there is none yet they write the request down. So a judge that
asks twice (reasoning steps, a second sample, a second reader) simply takes a batch more, and a case is settled in the
pass in which its last reply is there.
"""
