"""The claims of the chains of 16.1, 16.2, 16.3 and 16.5."""

from attn_course.register import Claim, Claims, chains_prove

# 16.1


@chains_prove(
    "a sink multiplies the context by a sigmoid of l - s_0, and its gradient vanishes at both ends."
)
def sink_is_a_gate() -> Claims:
    """Return the claims of 16.1: the output of a head with a sink, and the gradient of the sink's score."""
    import sympy as sp

    from attn_course.proofs.required_form import one_exponential

    C, c, lse, s_0, g = sp.symbols("C c l s_0 g", real=True)
    Z, alpha = sp.symbols("Z alpha", positive=True)
    gate = Claim(
        name="`gate`",
        start=C / (Z + sp.exp(s_0)),
        goal=c / (1 + sp.exp(s_0 - lse)),
        symbols=(C, c, lse, s_0, Z),
        where={C: c * Z, Z: sp.exp(lse)},
        only=(c, lse, s_0),
        forms=(one_exponential("a form with one and the same exponential everywhere"),),
        slips={
            "the sigmoid is turned round: a high sink closes the gate": c / (1 + sp.exp(lse - s_0)),
            "the exponential of l is l, and not Z": c * lse / (lse + sp.exp(s_0)),
            "the sink stands for its exponential": c * sp.exp(lse) / (sp.exp(lse) + s_0),
            "Z is lost above: C is c times Z": c / (Z + sp.exp(s_0)),
            "scores are compared where their exponentials should be": c * lse / (lse + s_0),
            "that is the limit of a very low sink": c,
        },
    )
    sink_pull = Claim(
        name="`sink_pull`",
        start=-g * C * sp.exp(s_0) / (Z + sp.exp(s_0)) ** 2,
        goal=-g * alpha * (1 - alpha) * c,
        symbols=(C, c, s_0, g, Z, alpha),
        where={C: c * Z, s_0: sp.log(Z * (1 - alpha) / alpha), alpha: (0, 1)},
        only=(g, alpha, c),
        slips={
            "the sign is lost": g * alpha * (1 - alpha) * c,
            "the weight of the sink is lost: there are two fractions": -g * alpha * c,
            "the weight of the keys is lost: there are two fractions": -g * (1 - alpha) * c,
            "g is lost": -alpha * (1 - alpha) * c,
            "one of the fractions is squared": -g * alpha * (1 - alpha) ** 2 * c,
            "C is c times Z": -g * alpha * (1 - alpha) * C,
        },
    )
    return gate, sink_pull


# 16.2


@chains_prove("no key can have more weight than this, whatever the scores between -t and t are.")
def bounded_scores_bound_the_weight() -> Claims:
    """Return the claim of 16.2: the largest weight of one of n keys whose scores lie between -t and t."""
    import sympy as sp

    A, R, t = sp.symbols("A R t", positive=True)
    n = sp.Symbol("n", integer=True, positive=True)
    at_most = Claim(
        name="`at_most`",
        start=A / (A + R),
        goal=1 / (1 + (n - 1) * sp.exp(-2 * t)),
        symbols=(A, R, t, n),
        where={
            A: (sp.exp(-t), sp.exp(t)),
            R: ((n - 1) * sp.exp(-t), (n - 1) * sp.exp(t)),
        },
        relation="<=",
        only=(t, n),
        slips={
            "there are n - 1 rivals, not n": 1 / (1 + n * sp.exp(-2 * t)),
            "the lead is 2 t: the key has t and its rivals -t": 1 / (1 + (n - 1) * sp.exp(-t)),
            "that is one rival; there are n - 1": 1 / (1 + sp.exp(-2 * t)),
            "that is the least weight; the rivals have -t and not t": 1
            / (1 + (n - 1) * sp.exp(2 * t)),
        },
    )
    return (at_most,)


# 16.3


@chains_prove("the error is the dropped weight times the difference of the two halves.")
def dropped_weight_times_difference() -> Claims:
    """Return the claim of 16.3: sparse minus full attention, where epsilon is the weight of dropped keys."""
    import sympy as sp

    C_1, C_0, c_1, c_0 = sp.symbols("C_1 C_0 c_1 c_0", real=True)
    Z_1, Z_0, epsilon = sp.symbols("Z_1 Z_0 epsilon", positive=True)
    error = Claim(
        name="`error`",
        start=C_1 / Z_1 - (C_1 + C_0) / (Z_1 + Z_0),
        goal=epsilon * (c_1 - c_0),
        symbols=(C_1, C_0, c_1, c_0, Z_1, Z_0, epsilon),
        where={
            C_1: c_1 * Z_1,
            C_0: c_0 * Z_0,
            Z_0: Z_1 * epsilon / (1 - epsilon),
            epsilon: (0, 1),
        },
        only=(epsilon, c_1, c_0),
        slips={
            "that is full minus sparse": epsilon * (c_0 - c_1),
            "epsilon is the dropped weight, over the sum of both Z": epsilon
            / (1 - epsilon)
            * (c_1 - c_0),
            "that is the weight of the kept keys": (1 - epsilon) * (c_1 - c_0),
            "the dropped context is lost": epsilon * c_1,
            "the weight of the kept keys is one factor too many": epsilon
            * (1 - epsilon)
            * (c_1 - c_0),
            "the kept half is not renormalised: Z_1 alone is below it": C_1 / (Z_1 + Z_0)
            - (C_1 + C_0) / (Z_1 + Z_0),
            "epsilon is lost": c_1 - c_0,
        },
    )
    return (error,)


# 16.5


@chains_prove("a write changes every reading by strength times score times surprise.")
def write_changes_a_reading() -> Claims:
    """Return the claim of 16.5: what a query reads after one write with a key of length one."""
    import sympy as sp

    from attn_course.proofs.required_form import without

    F, k, q = (sp.IndexedBase(name) for name in "Fkq")
    i, d = sp.symbols("i d", integer=True, positive=True)
    r_q, r_k, s, v, eta = sp.symbols("r_q r_k s v eta", real=True)
    reading = Claim(
        name="`reading`",
        start=sp.Sum(q[i] * F[i] + eta * (v - r_k) * q[i] * k[i], (i, 1, d)),
        goal=r_q + eta * s * (v - r_k),
        symbols=(F, k, q, i, d, r_q, r_k, s, v, eta),
        where={
            r_q: sp.Sum(q[i] * F[i], (i, 1, d)),
            r_k: sp.Sum(k[i] * F[i], (i, 1, d)),
            s: sp.Sum(q[i] * k[i], (i, 1, d)),
        },
        only=(r_q, r_k, s, v, eta),
        forms=(without("a form without a sum", "Sum"),),
        slips={
            "the surprise is what the key reads, not what the query reads": r_q
            + eta * s * (v - r_q),
            "the score of query and key is lost": r_q + eta * (v - r_k),
            "eta is lost": r_q + s * (v - r_k),
            "the sign is turned round": r_q - eta * s * (v - r_k),
            "the old value is not taken out": r_q + eta * s * v,
            "only the key itself reads that; the score is lost": (1 - eta) * r_q + eta * v,
        },
    )
    return (reading,)
