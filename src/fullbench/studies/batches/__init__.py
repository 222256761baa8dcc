"""Batch mode of studies: a provider's batch service, or vLLM's offline mode, instead of live calls.

A pass over the study works as in a live run: judges write prompts and read replies. Only the models differ. They take
replies from files, and write a request if there is no reply yet. A judge that needs two calls (reasoning steps, a
second sample, a second reader) thus needs another batch. A case is finished in the pass that has its last reply.
"""
