"""Litmus tests run as kernels: on a GPU, or on our own machine with random schedules.

    parameters   what a launch may vary: instances, spreading, stress, shuffling
    placement    test -> its launches and where its threads run, and what cannot be placed
    body         a thread of the test -> PTX
    module       test -> the module; `contract` says what it and its host agree on
    layout       module, parameters -> launches: memory, tables; memory behind them -> states
    simulator    our own machine as the place where it runs
    running      launches, again and again
    driver, worker, device   a GPU as that place
    judging      what was seen, beside what a model allows; `words` tells it
    mutants, confidence, tuning   how likely a violation had been seen, and how it becomes likelier
    histograms   all of it, for a test; `rows` stores it, and `page` makes the table of what was measured

Nobody but the command line and the API imports it.
"""
