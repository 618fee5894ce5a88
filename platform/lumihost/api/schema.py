"""x"""


def add_problem_responses(result, generator, request, public):
    return result
