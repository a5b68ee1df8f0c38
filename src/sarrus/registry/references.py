"""The publications behind the algorithms, as BibTeX, by the keys that `@algorithm(references=...)` uses."""

from __future__ import annotations

from sarrus.registry.table import find

BIBTEX: dict[str, str] = {
    "featherstone2008": """@book{featherstone2008,
  author = {Featherstone, Roy},
  title = {Rigid Body Dynamics Algorithms},
  publisher = {Springer},
  year = {2008}
}""",
    "luh1980": """@article{luh1980,
  author = {Luh, John Y. S. and Walker, Michael W. and Paul, Richard P. C.},
  title = {On-Line Computational Scheme for Mechanical Manipulators},
  journal = {Journal of Dynamic Systems, Measurement, and Control},
  volume = {102}, number = {2}, pages = {69--76}, year = {1980}
}""",
    "walker1982": """@article{walker1982,
  author = {Walker, Michael W. and Orin, David E.},
  title = {Efficient Dynamic Computer Simulation of Robotic Mechanisms},
  journal = {Journal of Dynamic Systems, Measurement, and Control},
  volume = {104}, number = {3}, pages = {205--211}, year = {1982}
}""",
    "orin2013": """@article{orin2013,
  author = {Orin, David E. and Goswami, Ambarish and Lee, Sung-Hee},
  title = {Centroidal Dynamics of a Humanoid Robot},
  journal = {Autonomous Robots},
  volume = {35}, number = {2-3}, pages = {161--176}, year = {2013}
}""",
    "sathya2024pv": """@article{sathya2024pv,
  author = {Sathya, Ajay Suresha and Bruyninckx, Herman and Decr{\\'e}, Wilm and Pipeleers, Goele},
  title = {Efficient Constrained Dynamics Algorithms Based on an Equivalent {LQR} Formulation Using {Gauss'}
    Principle of Least Constraint},
  journal = {IEEE Transactions on Robotics},
  volume = {40}, pages = {729--749}, year = {2024}
}""",
    "sathya2025osimr": """@article{sathya2025osimr,
  author = {Sathya, Ajay Suresha and Decr{\\'e}, Wilm and Swevers, Jan},
  title = {{PV-OSIMr}: A Lowest Order Complexity Algorithm for Computing the {Delassus} Matrix},
  journal = {IEEE Robotics and Automation Letters},
  year = {2025}
}""",
    "popov1978": """@book{popov1978,
  author = {Popov, J. P. and Vereshchagin, A. F. and Zenkevi{\\v c}, S. L.},
  title = {Manipulacionnyje Roboty: Dinamika i Algoritmy},
  publisher = {Nauka},
  year = {1978}
}""",
    "vereshchagin1989": """@article{vereshchagin1989,
  author = {Vereshchagin, A. F.},
  title = {Modeling and Control of Motion of Manipulative Robots},
  journal = {Soviet Journal of Computer and Systems Sciences},
  volume = {27}, number = {5}, pages = {29--38}, year = {1989}
}""",
    "featherstone2005": """@article{featherstone2005,
  author = {Featherstone, Roy},
  title = {Efficient Factorization of the Joint-Space Inertia Matrix for Branched Kinematic Trees},
  journal = {The International Journal of Robotics Research},
  volume = {24}, number = {6}, pages = {487--500}, year = {2005}
}""",
    "featherstone2010": """@article{featherstone2010,
  author = {Featherstone, Roy},
  title = {Exploiting Sparsity in Operational-Space Dynamics},
  journal = {The International Journal of Robotics Research},
  volume = {29}, number = {10}, pages = {1353--1368}, year = {2010}
}""",
    "todorov2014": """@inproceedings{todorov2014,
  author = {Todorov, Emanuel},
  title = {Convex and Analytically-Invertible Dynamics with Contacts and Constraints: Theory and
    Implementation in {MuJoCo}},
  booktitle = {IEEE International Conference on Robotics and Automation},
  pages = {6054--6061}, year = {2014}
}""",
    "kreutz1992": """@article{kreutz1992,
  author = {Kreutz-Delgado, Kenneth and Jain, Abhinandan and Rodriguez, Guillermo},
  title = {Recursive Formulation of Operational Space Control},
  journal = {The International Journal of Robotics Research},
  volume = {11}, number = {4}, pages = {320--328}, year = {1992}
}""",
    "wensing2012": """@inproceedings{wensing2012,
  author = {Wensing, Patrick and Featherstone, Roy and Orin, David E.},
  title = {A Reduced-Order Recursive Algorithm for the Computation of the Operational-Space Inertia Matrix},
  booktitle = {IEEE International Conference on Robotics and Automation},
  pages = {4911--4917}, year = {2012}
}""",
    "lcaba2025": """@unpublished{lcaba2025,
  author = {Sathya, Ajay Suresha and Carpentier, Justin},
  title = {Constrained Articulated Body Algorithms for Closed-Loop Mechanisms},
  note = {HAL preprint hal-04895583v2},
  year = {2025}
}""",
    "sathya2025constrained": """@article{sathya2025constrained,
  author = {Sathya, Ajay Suresha and Carpentier, Justin},
  title = {Constrained Articulated Body Dynamics Algorithms},
  journal = {IEEE Transactions on Robotics},
  volume = {41}, pages = {430--449}, year = {2025}
}""",
    "carpentier2021": """@inproceedings{carpentier2021,
  author = {Carpentier, Justin and Budhiraja, Rohan and Mansard, Nicolas},
  title = {Proximal and Sparse Resolution of Constrained Dynamic Equations},
  booktitle = {Robotics: Science and Systems},
  year = {2021}
}""",
    "brandl1987": """@inproceedings{brandl1987,
  author = {Otter, Martin and Brandl, Helmut and Johanni, Rainer},
  title = {An Algorithm for the Simulation of Multibody Systems with Kinematic Loops},
  booktitle = {7th World Congress on the Theory of Machines and Mechanisms},
  address = {Sevilla}, year = {1987}
}""",
    "bae1987": """@article{bae1987,
  author = {Bae, Dae-Sung and Haug, Edward J.},
  title = {A Recursive Formulation for Constrained Mechanical System Dynamics: Part {II}. Closed Loop Systems},
  journal = {Mechanics of Structures and Machines},
  volume = {15}, number = {4}, pages = {481--506}, year = {1987}
}""",
    "chignoli2025": """@article{chignoli2025,
  author = {Chignoli, Matthew and Adrian, Nicholas and Kim, Sangbae and Wensing, Patrick M.},
  title = {A Propagation Perspective on Recursive Forward Dynamics for Systems with Kinematic Loops},
  journal = {IEEE Transactions on Robotics},
  volume = {41}, doi = {10.1109/TRO.2025.3593081}, year = {2025}
}""",
    "jain2011": """@article{jain2011,
  author = {Jain, Abhinandan},
  title = {Multibody Graph Transformations and Analysis, Part {II}: Closed-Chain Constraint Embedding},
  journal = {Nonlinear Dynamics},
  volume = {67}, number = {4}, pages = {2153--2170}, year = {2012}
}""",
}


def cite(*methods: str) -> str:
    """BibTeX of the publications behind these algorithms, each once.

    >>> print(sarrus.cite("pv", "efpa"))
    """
    keys = dict.fromkeys(key for method in methods for key in find(method).references)
    return "\n\n".join(BIBTEX[key] for key in keys)
